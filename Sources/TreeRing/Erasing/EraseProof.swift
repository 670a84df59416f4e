// The proof after an erasing: scans log, trees and page file for the row.
//
//   - Every payload: no operation names the row. Every logged value belongs to an operation that is
//     still there, so none is the row's.
//   - Every entry of every tree: none is the row's.
//   - The page file, byte by byte. It was made from a log that does not name the row. So the key's
//     bytes can stand there only if the log mentions them elsewhere, or by chance if they are few.
//
// Commits continue during the scan, and may put a new row of this key, or mention the key
// elsewhere. So the log is scanned up to the trees' commit, and further if the page file holds the
// key. An operation after the row's delete may name the row, which is no flaw, but then nothing can
// be proved.
//
// The caller ensures that no other files hold parts of the log.

internal import TreeRingLog

/// Proves that nothing of a row is left. Throws `corruption` if it finds something, and `conflict`
/// if the row has been written again.
struct EraseProof {
  let key: Key
  let bucket: UInt32
  /// The newest commit from which the row was removed.
  let newest: CommitNumber
  /// The last commit of the log scanned so far.
  private(set) var scannedThrough: CommitNumber = 0
  /// The bytes and the logged values scanned so far.
  private(set) var byteCount: UInt64 = 0
  private(set) var values = 0
  /// The number of commits that hold the key's bytes as part of something else.
  private(set) var mentioningCommitCount = 0
  private(set) var searchedPageFile = false

  // MARK: The log

  /// Scans the log from the last commit scanned to another one.
  mutating func scan(_ log: CommitLog, to last: CommitNumber) throws {
    let (bucket, key, newest) = (bucket, key.bytes, newest)
    defer { scannedThrough = max(scannedThrough, last) }
    try log.replay(from: scannedThrough + 1, through: last) {
      (header, payload) throws(TreeRingError) in
      byteCount += UInt64(payload.count)
      let isMentioned = payload.firstPosition(of: key) != nil
      guard isMentioned || header.valueCount > 0 else { return true }
      if isMentioned { mentioningCommitCount += 1 }
      let whole = try PayloadRewriter.rewrite(payload, of: header.number) {
        (operation) throws(TreeRingError) in
        guard operation.row.bucket.number == bucket,
          operation.row.key.elementsEqual(key)
        else { return .keep }
        if header.number > newest { throw TreeRingError.writtenAgain(in: header.number) }
        throw Self.left("The row is still named by an operation", header)
      }
      if header.valueCount == 0 { return true }
      let referred = Set(whole.keptValues.map { ValueName($0.operation, $0.part) })
      for name in try log.valueNames(of: header.number) {
        guard referred.contains(name) else {
          throw Self.left("A logged value belongs to no operation and may be the row's", header)
        }
        values += 1
      }
      return true
    }
  }

  private static func left(_ what: String, _ header: CommitHeader) -> TreeRingError {
    TreeRingError(
      .corruption, "\(what). Erase the row again, or run `treering salvage`.", file: header.file,
      offset: header.offset, commit: header.number)
  }

  // MARK: The trees

  /// Scans the trees of a version. The log must have been scanned up to the version's commit.
  mutating func scan(_ version: Version) throws {
    let row = RowTreeKey.of(bucket: bucket, key: key.bytes)
    let place = key.bytes.withUnsafeBytes { PlaceKey.prefix(bucket: bucket, key: $0) }
    func check(
      _ root: TreeRoot, _ isOfRow: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    ) throws {
      try Tree(root, pages: version.pages).forEach(in: 0..<Int(root.count)) { entry, value in
        byteCount += UInt64(entry.count + value.count)
        if !isOfRow(entry, value) { return true }
        throw TreeRingError(
          .corruption, "After the erasing a tree still holds the row. Erase it again.")
      }
    }
    try version.pages.reading {
      try check(version.roots.rows) { entry, _ in entry.elementsEqual(row) }
      try check(version.roots.tombstones) { entry, _ in entry.elementsEqual(row) }
      for number in version.catalog.manualNumbers {
        let prefix = ManualPlaces.prefix(number, place)
        try check(version.roots.catalog) { entry, _ in entry.starts(with: prefix) }
      }
      let textNumbers = version.catalog.textNumbers
      for index in version.roots.indexes.all {
        if textNumbers.contains(index.number) {
          // Words of the row are those of a document that is gone.
          let value = key.bytes.withUnsafeBytes { TextKey.row(bucket, $0) }
          try check(index.places) { _, entry in entry.elementsEqual(value) }
          continue
        }
        try check(index.order) { entry, value in
          guard let entry = try? OrderEntry(key: entry, value: value) else { return false }
          return entry.bucket == bucket && entry.key.elementsEqual(key.bytes)
        }
        let order = Tree(index.order, pages: version.pages)
        try check(index.places) { entry, _ in
          // A node of sums is the row's if its entry is, and no entry of the order tree is.
          entry.starts(with: place)
            || SumKey.isNode(entry) && !order.contains(SumKey.order(of: entry))
        }
      }
    }
  }

  // MARK: The page file

  /// Searches the page file, unless a commit mentions the key anywhere, including commits since the
  /// scan of the log.
  ///
  /// - Parameter newest: Called when the key has been found. Returns the newest of the commits
  ///   whose pages may be in the file by now.
  mutating func search(
    _ file: String, on fileSystem: any FileSystem, log: CommitLog, newest: () throws -> CommitNumber
  ) throws {
    guard mentioningCommitCount == 0, key.bytes.count >= 8, try fileSystem.exists(file) else {
      return
    }
    let pages = try fileSystem.open(file, .readOnly)
    defer { pages.close() }
    let size = try pages.size()
    let slice: UInt64 = 1 << 20
    var offset: UInt64 = 0
    // Slices overlap, so that a key across their border is found.
    let overlap = UInt64(key.bytes.count)
    var bytes = [UInt8](repeating: 0, count: Int(slice + overlap))
    while offset < size {
      let wanted = Int(min(slice + overlap, size - offset))
      let count = try bytes.withUnsafeMutableBytes { buffer in
        try pages.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
      }
      let found = bytes.withUnsafeBytes {
        UnsafeRawBufferPointer(rebasing: $0[..<count]).firstPosition(of: key.bytes)
      }
      if let found {
        try scan(log, to: newest())
        if mentioningCommitCount > 0 { return }
        throw TreeRingError(
          .corruption,
          "After the erasing the page file still holds the key's bytes. Erase the row again.",
          file: file, offset: offset + UInt64(found))
      }
      offset += slice
    }
    byteCount += size
    searchedPageFile = true
  }
}

extension TreeRingError {
  /// The error for a row that was written again while it was being erased.
  static func writtenAgain(in commit: CommitNumber?) -> TreeRingError {
    TreeRingError(
      .conflict, "The row was written again while it was being erased. Erase it again.",
      commit: commit)
  }
}
