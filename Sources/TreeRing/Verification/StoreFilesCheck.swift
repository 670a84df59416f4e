// Checks the files of a store that another process may be writing.
//
// The log is checked through the commit that the writer has published as durable, because the part
// after it changes. The pages of the newest meta do not change until there is another meta. So a
// finding counts if the meta is still the newest afterwards. Otherwise the page file is checked
// again. If checkpoints are too frequent for that, the page file is not checked. A process that
// opens the store pins the newest root, and can check the trees instead.

package import TreeRingLog

/// Checks the log and the page file of a store.
package struct StoreFilesCheck {
  /// The flaws found.
  package private(set) var findings: [StoreFinding]
  /// Whether the page file was not checked completely, because its writer made checkpoints too
  /// often.
  package private(set) var isPartial = false

  private static let attempts = 5

  /// Reads every byte of the log and every page of the page file; changes nothing. O(bytes).
  ///
  /// - Parameter progress: Called from time to time with the number of bytes checked so far and
  ///   that of all files. When the page file is checked again, the number of bytes checked is less
  ///   than before.
  package init(
    of folder: String, fileSystem: any FileSystem,
    progress: @escaping (CopyProgress) -> Void = { _ in }
  ) throws(TreeRingError) {
    try UnfinishedCopy.check(folder, fileSystem: fileSystem)
    let lockPath = folder + "/LOCK"
    let path = folder + "/pages"
    var logByteCount: UInt64 = 0
    func writer() throws(TreeRingError) -> SharedWord.Value? {
      let word = try SharedWord.opened(lockPath, fileSystem)
      return try RunningWriter.publishedWord(word, lockPath: lockPath, fileSystem: fileSystem)
    }
    findings = try BackupSwitch.reading(folder, fileSystem: fileSystem) {
      (log) throws(TreeRingError) in
      let durable = try writer()?.durable
      let names = (try? fileSystem.list(log)) ?? []
      logByteCount = names.reduce(0) { $0 + Self.byteCount(of: "\(log)/\($1)", fileSystem) }
      let all = logByteCount + Self.byteCount(of: path, fileSystem)
      var failure: TreeRingError?
      var found = verifyLog(
        directory: log, fileSystem: fileSystem, through: durable, failed: { failure = $0 }
      ) {
        progress(CopyProgress(doneByteCount: $0, byteCount: all))
      }
      if let failure { throw failure }
      if durable != nil {
        // Compaction may have replaced the segment.
        found.removeAll { (try? fileSystem.exists($0.file)) == false }
      }
      return found
    }
    for _ in 0..<Self.attempts {
      let before = try Self.newestMeta(path, fileSystem)
      var isWritten = try writer() != nil
      let all = logByteCount + Self.byteCount(of: path, fileSystem)
      let found = try Self.pageFileFindings(path, fileSystem) { [logByteCount] in
        progress(CopyProgress(doneByteCount: logByteCount + $0, byteCount: all))
      }
      if found.isEmpty { return }
      if !isWritten { isWritten = try writer() != nil }
      guard isWritten else {
        findings += found
        return
      }
      if let before, try before == Self.newestMeta(path, fileSystem) {
        findings += found
        return
      }
    }
    isPartial = true
  }

  private static func pageFileFindings(
    _ path: String, _ fileSystem: any FileSystem, _ progress: @escaping (UInt64) -> Void
  ) throws(TreeRingError) -> [StoreFinding] {
    do throws(TreeRingError) {
      return try verifyPageFile(path, fileSystem: fileSystem, progress: progress)
    } catch  where error.code == .notFound { return [] }
  }

  /// The size of a file; 0 if there is none, or its size cannot be read.
  private static func byteCount(of path: String, _ fileSystem: any FileSystem) -> UInt64 {
    (try? fileSystem.open(path, .readOnly).size()) ?? 0
  }

  private static func newestMeta(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Meta? {
    do throws(TreeRingError) {
      let file = try PageFile.open(path, fileSystem: fileSystem, mode: .readOnly)
      defer { file.close() }
      return try file.metas().valid.first
    } catch  where error.code == .notFound || error.code == .notAStore { return nil }
  }
}
