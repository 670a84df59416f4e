// The list of retained roots as bytes, stored in one blob. Numbers are LEB128 unless stated
// otherwise:
//
//   u8 format version, count of roots, then for each root, oldest first:
//     commit, timestamp (8 bytes), operation count, payload byte count
//     rows, tombstones, catalog: page, birth, entry count each
//     count of indexes, then for each: number, order, places (as above), undecodable rows
//     count of dead lists, then for each: page, birth, byte count
//
// Decoding refuses all bytes that the encoder cannot have written. It reads counted elements one by
// one, so a false count allocates nothing and ends in an error at the end of the bytes.

package import TreeRingLog

extension RetainedRoot {
  private static let formatVersion: UInt8 = 1

  /// The encoded list.
  package static func encode(_ list: [RetainedRoot]) -> [UInt8] {
    var bytes: [UInt8] = [formatVersion]
    bytes.append(integer: UInt64(list.count))
    for root in list { root.append(to: &bytes) }
    return bytes
  }

  private func append(to bytes: inout [UInt8]) {
    bytes.append(integer: roots.commit)
    bytes.append(fixed64: UInt64(bitPattern: roots.timestamp.microseconds))
    bytes.append(integer: roots.operationCount)
    bytes.append(integer: roots.payloadByteCount)
    for tree in [roots.rows, roots.tombstones, roots.catalog] { bytes.append(tree) }
    bytes.append(integer: UInt64(roots.indexes.count))
    for index in roots.indexes.all {
      bytes.append(integer: UInt64(index.number))
      bytes.append(index.order)
      bytes.append(index.places)
      bytes.append(integer: index.undecodable)
    }
    bytes.append(integer: UInt64(deadLists.count))
    for list in deadLists {
      bytes.append(integer: UInt64(list.page))
      bytes.append(integer: list.birth)
      bytes.append(integer: list.byteCount)
    }
  }

  /// Decodes a list of roots. O(bytes).
  /// - Parameter bound: One above the highest possible page number.
  /// - Throws: `corruption` if the bytes are not the output of `encode`, or name pages that do not
  ///   exist.
  package static func decode(
    _ bytes: [UInt8], below bound: PageNumber = PageFileLayout.maxPageNumber + 1
  ) throws(TreeRingError) -> [RetainedRoot] {
    let result: Result<[RetainedRoot], TreeRingError> = bytes.withUnsafeBytes { bytes in
      Result { () throws(TreeRingError) in
        var reader = ByteReader(bytes)
        return try decode(&reader, below: bound)
      }
    }
    return try result.get()
  }

  private static func decode(
    _ reader: inout ByteReader, below bound: PageNumber
  ) throws(TreeRingError) -> [RetainedRoot] {
    do throws(TreeRingError) {
      let version = try reader.byte()
      guard version == formatVersion else { throw damaged("format version \(version)") }
      var list: [RetainedRoot] = []
      for _ in 0..<(try reader.integer()) {
        let root = try RetainedRoot(&reader, below: bound)
        if let last = list.last, last.roots.state >= root.roots.state {
          throw damaged("commit \(root.roots.commit) after \(last.roots.commit)")
        }
        list.append(root)
      }
      guard reader.isAtEnd else { throw damaged("bytes after the last root") }
      return list
    } catch {
      // The error of the reader does not say that the list of roots is damaged.
      throw error == ByteReader.damaged ? damaged("it ends too early") : error
    }
  }

  private init(_ reader: inout ByteReader, below bound: PageNumber) throws(TreeRingError) {
    var roots = Roots()
    roots.commit = try reader.integer()
    let microseconds = Int64(bitPattern: try reader.fixed64())
    roots.timestamp = Timestamp(microseconds: microseconds)
    roots.operationCount = try Self.count(&reader)
    roots.payloadByteCount = try Self.count(&reader)
    roots.rows = try Self.tree(&reader, roots.commit, below: bound)
    roots.tombstones = try Self.tree(&reader, roots.commit, below: bound)
    roots.catalog = try Self.tree(&reader, roots.commit, below: bound)
    for _ in 0..<(try reader.integer()) {
      var index = IndexRoots(number: try reader.integer32())
      index.order = try Self.tree(&reader, roots.commit, below: bound)
      index.places = try Self.tree(&reader, roots.commit, below: bound)
      index.undecodable = try Self.count(&reader)
      guard roots.index(index.number) == nil else {
        throw Self.damaged("index \(index.number) twice")
      }
      roots.indexes.set(index)
    }
    roots.form = roots.lowestForm
    var deadLists: [BlobReference] = []
    var deadByteCount: UInt64 = 0
    for _ in 0..<(try reader.integer()) {
      let list = BlobReference(
        page: try reader.integer32(), birth: try reader.integer(),
        byteCount: try reader.integer())
      if let flaw = list.flaw(below: bound) {
        throw Self.damaged(flaw)
      }
      deadByteCount += list.byteCount
      guard deadByteCount <= UInt64(bound) * UInt64(PageLayout.pageByteCount) else {
        throw Self.damaged("lists of \(deadByteCount) bytes in \(bound - 1) pages")
      }
      deadLists.append(list)
    }
    self.init(roots: roots, deadLists: deadLists)
  }

  /// A bound on counts, which no store reaches; adding a commit to a count below it cannot
  /// overflow.
  private static let maxCount: UInt64 = 1 << 62

  private static func count(_ reader: inout ByteReader) throws(TreeRingError) -> UInt64 {
    let count = try reader.integer()
    guard count <= maxCount else { throw damaged("a count of \(count)") }
    return count
  }

  private static func tree(
    _ reader: inout ByteReader, _ commit: CommitNumber, below bound: PageNumber
  ) throws(TreeRingError) -> TreeRoot {
    let root = TreeRoot(
      page: try reader.integer32(), birth: PageBirth(rawValue: try reader.integer()),
      count: try reader.integer())
    if root.page == 0 {
      guard root == .empty else { throw damaged("a tree without pages has entries") }
    } else {
      guard root.page < bound, root.birth.commit <= commit else {
        throw damaged("page \(root.page) of commit \(root.birth) as a root of \(commit)")
      }
      guard root.count > 0, root.count <= PageLayout.maxEntryCount(below: bound) else {
        throw damaged("\(root.count) entries in \(bound - 1) pages")
      }
    }
    return root
  }

  private static func damaged(_ flaw: String) -> TreeRingError {
    TreeRingError(
      .corruption, "The page file's list of roots is damaged: \(flaw). \(PageFile.remedy)")
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ tree: TreeRoot) {
    append(integer: UInt64(tree.page))
    append(integer: tree.birth.rawValue)
    append(integer: tree.count)
  }
}
