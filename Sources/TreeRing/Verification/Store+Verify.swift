// Verification of a store that is closed, or that another process writes.

public import TreeRingLog

/// The result of `Store.verify`.
public struct VerificationReport: Hashable, Sendable {
  /// The flaws, in the order of their discovery; empty if the store is sound.
  public package(set) var findings: [StoreFinding]
  /// The newest commit; 0 if a flaw of the files prevents opening the store.
  public package(set) var newestCommit: CommitNumber
  /// Whether earlier states in the page file were not checked, because the process that writes the
  /// store makes checkpoints too often.
  public package(set) var isPartial: Bool

  package init(
    findings: [StoreFinding] = [], newestCommit: CommitNumber = 0, isPartial: Bool = false
  ) {
    (self.findings, self.newestCommit, self.isPartial) = (findings, newestCommit, isPartial)
  }

  /// Adds an error as a finding. This includes errors about input: the only input is the store.
  /// - Throws: the error if it does not stand for damage.
  package mutating func add(_ error: TreeRingError, of folder: String) throws(TreeRingError) {
    guard Self.damage.contains(error.code) else { throw error }
    findings.append(
      StoreFinding(
        file: error.file ?? folder, offset: error.offset ?? 0, commit: error.commit,
        problem: error.message))
  }

  private static let damage: Set<TreeRingError.Code> = [
    .corruption, .notAStore, .logBehindPages, .invalidInput, .tooLarge, .conflict, .alreadyExists,
  ]
}

extension Store {
  /// Checks a store and changes nothing: every checksum, the chain of commits, the page file, the
  /// invariants of the trees. The store may be open, in this process or another. Damage is a
  /// finding and no error. O(bytes).
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameters:
  ///   - folder: The folder of the store.
  ///   - comparesIndexes: Whether also to compare each index with one rebuilt from the rows. Those
  ///     defined in code are left out, since their closures are not known.
  ///   - progress: Called from time to time with the bytes of files checked. When the page file is
  ///     checked again, they are fewer than before.
  /// - Throws: `notFound` if there is no store; `unfinishedCopy`; `unsupportedFormat` if a later
  ///   version wrote it; `io`.
  public static func verify(
    _ folder: String, comparesIndexes: Bool = false,
    progress: @escaping (CopyProgress) -> Void = { _ in }
  ) throws -> VerificationReport {
    try verify(folder, comparesIndexes: comparesIndexes, progress: progress) {
      var options = StoreOptions(mode: .readOnly)
      options.sweeps = false
      return try Store(at: folder, options: options)
    }
  }

  /// The same, with a way to open the store for reading.
  package static func verify(
    _ folder: String, comparesIndexes: Bool, progress: @escaping (CopyProgress) -> Void,
    opening open: () throws -> Store
  ) throws -> VerificationReport {
    let fileSystem = PosixFileSystem()
    guard try exists(at: folder, on: fileSystem) else {
      throw TreeRingError(
        .notFound, "There is no store at \(folder). Check the path.", file: folder)
    }
    let files = try StoreFilesCheck(of: folder, fileSystem: fileSystem, progress: progress)
    var report = VerificationReport(findings: files.findings, isPartial: files.isPartial)
    guard report.findings.isEmpty else { return report }
    do {
      let store = try open()
      defer { try? store.close() }
      report.newestCommit = store.newestCommit
      report.findings = try store.checkInvariants(comparesIndexes: comparesIndexes).map {
        StoreFinding(file: folder, offset: 0, problem: $0)
      }
    } catch let error as TreeRingError {
      try report.add(error, of: folder)
    }
    return report
  }

  /// Whether a folder holds a store, or the copy of one that was not finished.
  package static func exists(
    at folder: String, on fileSystem: any FileSystem
  ) throws(TreeRingError) -> Bool {
    guard try fileSystem.exists(folder + "/log") else { return false }
    if try UnfinishedCopy.kind(in: folder, fileSystem: fileSystem) != nil { return true }
    switch try StoreFolder(folder, fileSystem: fileSystem) {
    case .store, .damaged: return true
    case .absent, .empty, .foreign: return false
    }
  }
}
