// Checks the files of a store that another process may be writing.
//
// The log is looked at up to the commit that the writer says is durable: what lies behind it changes. Of
// the page file nothing changes that the newest meta leads to, until there is another one; so what is
// found wrong counts if the meta is still the newest afterwards. Otherwise it is looked at again, and if
// checkpoints come too fast for that, left out: who opens the store holds the newest root, and can check
// the trees then.

package import TreeRingLog

/// Checks the log and the page file of a store.
package struct StoreFilesCheck {
  /// Everything that is wrong.
  package private(set) var findings: [LogFinding]
  /// Whether the page file could not be looked at as a whole, because it was being written all the time.
  package private(set) var isPartial = false

  private static let attempts = 5

  /// Looks at every byte of the log and every page of the page file; nothing is changed. O(bytes).
  package init(of folder: String, fileSystem: any FileSystem) throws(TreeRingError) {
    let lockPath = folder + "/LOCK"
    func writer() throws(TreeRingError) -> SharedWord.Value? {
      let word = try? SharedWord.opened(lockPath, fileSystem)
      return try Writer.says(word, lockPath: lockPath, fileSystem: fileSystem)
    }
    findings = try BackupSwitch.reading(folder, fileSystem: fileSystem) {
      (log) throws(TreeRingError) in
      let durable = try writer()?.durable
      var found = verifyLog(directory: log, fileSystem: fileSystem, through: durable)
      if durable != nil {
        // Compaction takes segments away, and says the same in others.
        found.removeAll { (try? fileSystem.exists($0.file)) == false }
      }
      return found
    }
    let path = folder + "/pages"
    for _ in 0..<Self.attempts {
      let before = try Self.newestMeta(path, fileSystem)
      var isWritten = try writer() != nil
      let found = try Self.pageFileFindings(path, fileSystem)
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
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> [LogFinding] {
    do throws(TreeRingError) {
      return try verifyPageFile(path, fileSystem: fileSystem)
    } catch  where error.code == .notFound { return [] }
  }

  private static func newestMeta(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> Meta? {
    do throws(TreeRingError) {
      let file = try PageFile.open(path, fileSystem: fileSystem, mode: .readOnly)
      defer { file.close() }
      return try file.metas().valid.first
    } catch  where error.code == .notFound { return nil }
  }
}
