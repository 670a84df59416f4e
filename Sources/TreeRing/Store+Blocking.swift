// The blocking forms, by name.

extension Store {
  /// Runs a closure on the calling thread and returns its result. Within the closure, names mean
  /// the blocking forms, also if the code around it is asynchronous:
  ///
  ///     let report = try Store.blocking { try store.compact(to: .keeping(.last(commits: 100))) }
  ///
  /// The closure may change the variables around it, which the asynchronous forms bar. In
  /// asynchronous code it occupies a thread of Swift's pool, of which there are as many as cores.
  /// So it is for programs that do nothing else meanwhile, such as imports.
  ///
  /// - Throws: the error of the closure.
  @inlinable
  public static func blocking<Value, Failure: Error>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try body()
  }
}
