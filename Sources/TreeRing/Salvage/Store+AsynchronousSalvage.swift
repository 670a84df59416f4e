// The asynchronous form of salvage.

public import TreeRingLog

extension Store {
  /// Copies every readable commit of a damaged store into a new one, without blocking the caller's
  /// thread. It stops when the task is cancelled. Otherwise it equals the blocking form.
  /// - Parameters:
  ///   - damaged: The folder of the damaged store.
  ///   - folder: The folder of the new store.
  ///   - progress: Called from time to time on a thread of the library; return false to cancel.
  /// - Throws: As the blocking form.
  @discardableResult
  public static func salvage(
    from damaged: String, to folder: String,
    progress: @escaping @Sendable (CopyProgress) -> Bool = { _ in true }
  ) async throws(TreeRingError) -> SalvageReport {
    try await WorkerPool.upkeep.run { stop throws(TreeRingError) in
      try salvage(from: damaged, to: folder) { progress($0) && !stop.isSet }
    }
  }
}
