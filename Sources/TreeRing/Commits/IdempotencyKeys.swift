// Idempotency keys: the names that programs give their writes, so that a repeated write makes no
// second commit. The catalog tree holds each key with the first commit written under it.

internal import TreeRingLog

extension StateEditor {
  /// Records that a commit was written under a key.
  func setIdempotencyKey(_ key: [UInt8], commit: CommitNumber) {
    setCatalog(CatalogKey.idempotencyKey, key, integer: commit)
  }
}

extension StateReader {
  /// The commit written under an idempotency key; nil if there is none.
  func commit(idempotencyKey key: [UInt8]) throws(TreeRingError) -> CommitNumber? {
    let tree = Tree(roots.catalog, pages: pages)
    let key = CatalogKey.of(CatalogKey.idempotencyKey, key)
    return try read {
      guard let bytes = key.withUnsafeBytes({ tree.value(of: $0) }) else { return nil }
      var reader = ByteReader(bytes)
      return try reader.integer()
    }
  }
}
