// The tags of one state, by name and by commit. The catalog tree holds each tag under both. So a
// lookup by name or by commit costs one descent, however many tags there are.
//
// A page file of an earlier version has tags by name only, which the two counts show. Then lookups
// by commit scan all tags, until the next commit that sets a tag adds the missing entries
// (`StateEditor.setTag`).

internal import TreeRingLog

/// Reads tags from a catalog tree. Inside a read section.
struct TagReader {
  let tree: Tree

  init(_ catalog: Tree) { tree = catalog }

  /// Whether each tag has an entry by its commit too. O(log n).
  var isIndexed: Bool { count(CatalogKey.tag) == count(CatalogKey.taggedCommit) }

  /// The commit that a tag names; nil if there is no such tag. O(log n).
  func commit(of name: String) throws(TreeRingError) -> CommitNumber? {
    let key = CatalogKey.of(CatalogKey.tag, name.utf8)
    guard let bytes = key.withUnsafeBytes({ tree.value(of: $0) }) else { return nil }
    var reader = ByteReader(bytes)
    return try reader.integer()
  }

  /// Whether a tag names the commit. O(log n), if tags are indexed.
  func contains(_ commit: CommitNumber) throws(TreeRingError) -> Bool {
    guard isIndexed else {
      var isTagged = false
      try forEachByName { tag in
        isTagged = tag.commit == commit
        return !isTagged
      }
      return isTagged
    }
    let first = CatalogKey.tag(of: commit)
    let next = CatalogKey.tag(of: commit &+ 1)
    return first.withUnsafeBytes { first in
      next.withUnsafeBytes { tree.count(from: first, to: $0) > 0 }
    }
  }

  /// The tags of commits below `bound`, the oldest commit first. O(log n + tags found), if tags are
  /// indexed.
  func tags(below bound: CommitNumber) throws(TreeRingError) -> [Tag] {
    var tags: [Tag] = []
    guard isIndexed else {
      try forEachByName { tag in
        if tag.commit < bound { tags.append(tag) }
        return true
      }
      return tags.sorted { ($0.commit, Key($0.name)) < ($1.commit, Key($1.name)) }
    }
    try tree.forEach(from: CatalogKey.tag(of: 0), to: CatalogKey.tag(of: bound)) {
      (key, _) throws(TreeRingError) in
      guard key.count >= CatalogKey.tagNameOffset else { throw ByteReader.damaged }
      let commit = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
      let name = String(decoding: key[CatalogKey.tagNameOffset...], as: UTF8.self)
      tags.append(Tag(name: name, commit: commit))
      return true
    }
    return tags
  }

  /// Calls `body` with each tag in name order, until it returns false. O(tags).
  func forEachByName(_ body: (Tag) -> Bool) throws(TreeRingError) {
    try tree.forEach(from: [CatalogKey.tag], to: [CatalogKey.tag + 1]) {
      (key, value) throws(TreeRingError) in
      var reader = ByteReader(value)
      let name = String(decoding: key.dropFirst(), as: UTF8.self)
      return body(Tag(name: name, commit: try reader.integer()))
    }
  }

  /// The differences between the tags by name and by commit, if they are indexed. O(tags).
  func problems() throws -> [String] {
    guard isIndexed else { return [] }
    var named: Set<Tag> = []
    try forEachByName { named.insert($0).inserted }
    return named == Set(try tags(below: .max)) ? [] : ["tags by name and by commit differ"]
  }

  private func count(_ kind: UInt8) -> Int {
    [kind].withUnsafeBytes { lower in
      [kind + 1].withUnsafeBytes { tree.count(from: lower, to: $0) }
    }
  }
}
