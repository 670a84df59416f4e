// The changes of a remote window: a position of one reader.

public import TreeRingMappings

/// A stream of the changes of a window. Each iteration starts with a reset.
public struct RemoteChanges: AsyncSequence, Sendable {
  /// A change.
  public typealias Element = Change
  let window: RemoteMappings

  public func makeAsyncIterator() -> Iterator { Iterator(window) }

  /// The position of one reader.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    private var observer = ListedObserver()
    private let reader: Reader

    init(_ window: RemoteMappings) { reader = Reader(window) }

    /// The next change that is not empty, as soon as there is one; nil once the window is closed or
    /// the task is cancelled.
    ///
    /// - Throws: The error with which the window ended, once. `notFound`, `beyondHorizon` and
    ///   others if the server refuses a moment or a range; the window then shows what it showed,
    ///   and the stream continues.
    public mutating func next() async throws(RemoteError) -> Change? {
      let core = reader.window.core
      while !Task.isCancelled {
        switch core.news(of: reader.number) {
        case .none: await core.wait(for: reader.number)
        case .refusal(let error): throw error
        case .end(let error?): throw error
        case .end(nil): return nil
        case .rows(let rows, let changed, let index, let commit):
          let result = Result { [limit = reader.window.options.changeLimit] () in
            var copy = observer
            let change = try copy.advance(
              to: rows, of: index, at: commit, changed: changed, limit: limit)
            return (change, copy)
          }
          guard case .success(let (change, next)) = result else {
            throw .malformed("the rows cannot be compared.")
          }
          observer = next
          if !change.isEmpty { return change }
        }
      }
      return nil
    }
  }

  /// A reader's registration, which ends with its iterator.
  private final class Reader: Sendable {
    let window: RemoteMappings
    let number: Int

    init(_ window: RemoteMappings) {
      self.window = window
      number = window.core.addReader()
    }

    deinit { window.core.removeReader(number) }
  }
}
