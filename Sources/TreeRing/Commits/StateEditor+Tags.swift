// Setting and removing tags. The catalog tree holds each tag under its name and under its commit
// (TagReader.swift).

internal import TreeRingLog

extension StateEditor {
  /// Names a commit; 0 removes the name. O(log n); O(tags) once for a page file of an earlier
  /// version.
  func setTag(_ name: String, commit: CommitNumber) throws(TreeRingError) {
    let tags = TagReader(catalogTree)
    if !tags.isIndexed {
      var known: [Tag] = []
      try tags.forEachByName { tag in
        known.append(tag)
        return true
      }
      for tag in known { putCatalog(CatalogKey.tag(of: tag.commit, tag.name.utf8), []) }
    }
    if let old = try TagReader(catalogTree).commit(of: name) {
      removeCatalog(CatalogKey.tag(of: old, name.utf8))
    }
    let key = CatalogKey.of(CatalogKey.tag, name.utf8)
    if commit == 0 { return removeCatalog(key) }
    var value: [UInt8] = []
    value.append(integer: commit)
    putCatalog(key, value)
    putCatalog(CatalogKey.tag(of: commit, name.utf8), [])
  }
}
