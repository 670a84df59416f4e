// The list of retained roots as bytes, which are kept in one blob. Numbers are LEB128 if not said
// otherwise:
//
//   u8 format version, count of roots, then for each root, oldest first:
//     commit, timestamp (8 bytes), operation count, payload byte count
//     rows, graves, catalog: page, birth, entry count each
//     count of indexes, then for each: number, order, places (as above), undecodable rows
//     count of dead lists, then for each: page, birth, byte count
//
// Decoding refuses what the encoder cannot have written: what is counted is read one by one, so a count
// that lies runs into the end of the bytes.

package import TreeRingLog

extension RetainedRoot {
  private static let formatVersion: UInt8 = 1

  /// The bytes of a list of roots.
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
    for tree in [roots.rows, roots.graves, roots.catalog] { bytes.append(tree) }
    bytes.append(integer: UInt64(roots.indexes.count))
    for index in roots.indexes {
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

  /// The roots in a list's bytes; `corruption` if they are not what `encode` makes. O(bytes).
  package static func decode(_ bytes: [UInt8]) throws(TreeRingError) -> [RetainedRoot] {
    let result: Result<[RetainedRoot], TreeRingError> = bytes.withUnsafeBytes { bytes in
      Result { () throws(TreeRingError) in
        var reader = ByteReader(bytes)
        return try decode(&reader)
      }
    }
    return try result.get()
  }

  private static func decode(_ reader: inout ByteReader) throws(TreeRingError) -> [RetainedRoot] {
    do throws(TreeRingError) {
      let version = try reader.byte()
      guard version == formatVersion else { throw damaged("format version \(version)") }
      var list: [RetainedRoot] = []
      for _ in 0..<(try reader.integer()) {
        let root = try RetainedRoot(&reader)
        if let last = list.last, last.roots.commit >= root.roots.commit {
          throw damaged("commit \(root.roots.commit) after \(last.roots.commit)")
        }
        list.append(root)
      }
      guard reader.isAtEnd else { throw damaged("bytes after the last root") }
      return list
    } catch {
      // The reader does not know whose bytes it reads.
      throw error == ByteReader.damaged ? damaged("it ends too early") : error
    }
  }

  private init(_ reader: inout ByteReader) throws(TreeRingError) {
    var roots = Roots()
    roots.commit = try reader.integer()
    let microseconds = Int64(bitPattern: try reader.fixed64())
    roots.timestamp = Timestamp(microseconds: microseconds)
    roots.operationCount = try reader.integer()
    roots.payloadByteCount = try reader.integer()
    roots.rows = try Self.tree(&reader, roots.commit)
    roots.graves = try Self.tree(&reader, roots.commit)
    roots.catalog = try Self.tree(&reader, roots.commit)
    for _ in 0..<(try reader.integer()) {
      var index = IndexRoots(number: try reader.integer32())
      index.order = try Self.tree(&reader, roots.commit)
      index.places = try Self.tree(&reader, roots.commit)
      index.undecodable = try reader.integer()
      guard roots.index(index.number) == nil else {
        throw Self.damaged("index \(index.number) twice")
      }
      roots.indexes.append(index)
    }
    var deadLists: [BlobReference] = []
    for _ in 0..<(try reader.integer()) {
      let list = BlobReference(
        page: try reader.integer32(), birth: try reader.integer(),
        byteCount: try reader.integer())
      if let flaw = list.flaw(below: PageFileLayout.maxPageNumber + 1) {
        throw Self.damaged(flaw)
      }
      deadLists.append(list)
    }
    self.init(roots: roots, deadLists: deadLists)
  }

  private static func tree(
    _ reader: inout ByteReader, _ commit: CommitNumber
  ) throws(TreeRingError) -> TreeRoot {
    let root = TreeRoot(
      page: try reader.integer32(), birth: PageBirth(rawValue: try reader.integer()),
      count: try reader.integer())
    if root.page == 0 {
      guard root == .empty else { throw damaged("a tree without pages has entries") }
    } else {
      guard root.page <= PageFileLayout.maxPageNumber, root.birth.commit <= commit, root.count > 0
      else {
        throw damaged("page \(root.page) of commit \(root.birth) as a root of \(commit)")
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
