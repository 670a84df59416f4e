// Edits the trees of a text index. A document's edit rewrites one chunk for each of its terms. A
// chunk that becomes too long is split; one that a document after all others makes too long stays
// as it is, and that document begins the next, so documents in order fill their chunks.

internal import TreeRingLog

/// Edits the trees of one text index inside a transaction.
struct TextEditor {
  let editor: PageEditor
  let format: PostingFormat

  /// Replaces the words of a row. O(terms · log n).
  func replace(
    _ roots: inout IndexRoots, old: DocumentPostings?, new: DocumentPostings?, bucket: UInt32,
    key: UnsafeRawBufferPointer
  ) {
    let (old, new) = (old?.indexed, new?.indexed)
    if let old, old.document != new?.document { removeDocument(old.document, from: &roots) }
    if let new, new.document != old?.document {
      put(new.document.key, TextKey.row(bucket, key), into: &roots.places)
    }
    setTotal(adding: new?.length ?? 0, removing: old?.length ?? 0, in: &roots.order)
    let isSame = old?.document == new?.document && old?.length == new?.length
    DocumentPostings.forEachDifference(from: old, to: new) { term, before, after in
      if let before, let after, isSame, before.isSingle == after.isSingle,
        before.occurrences.elementsEqual(after.occurrences)
      {
        return
      }
      if let old, before != nil, after == nil || old.document != new?.document {
        edit(&roots.order, term, old.document) { $0.remove(old.document) }
      }
      if let new, let after {
        if before == nil || old?.document != new.document,
          append(new, after, to: term, &roots.order)
        {
          return
        }
        edit(&roots.order, term, new.document) {
          $0.put(
            new.document, length: new.length, isSingle: after.isSingle, after.occurrences)
        }
      }
    }
  }

  private func removeDocument(_ document: TextDocument, from roots: inout IndexRoots) {
    document.key.withUnsafeBytes { _ = editor.remove(&roots.places, key: $0) }
  }

  private func put(_ key: [UInt8], _ value: [UInt8], into root: inout TreeRoot) {
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { _ = editor.put(&root, key: key, value: $0) }
    }
  }

  /// Changes the number of terms of all documents.
  func setTotal(adding added: UInt64, removing removed: UInt64, in root: inout TreeRoot) {
    if added == removed { return }
    let total = Tree(root, pages: editor.pages).termTotal &+ added &- removed
    var value: [UInt8] = []
    value.append(integer: total)
    put(TextKey.total, value, into: &root)
  }

  /// Appends a posting behind all others of its term, as most documents do: without decoding them.
  /// - Returns: False if that is not possible; then nothing has changed.
  private func append(
    _ new: DocumentPostings, _ added: DocumentPostings.Occurrences,
    to term: UnsafeRawBufferPointer, _ root: inout TreeRoot
  ) -> Bool {
    let first = TextKey.chunks(of: term)
    var sought = first
    new.document.append(to: &sought)
    var key: [UInt8] = []
    var value: [UInt8] = []
    sought.withUnsafeBytes { sought in
      Tree(root, pages: editor.pages).withEntry(atOrBefore: sought) { found, chunk in
        guard found.starts(with: first),
          TextKey.chunkKeyByteCount(ofEntry: found, first: first.count) == found.count,
          chunk.count < PostingFormat.chunkByteCount + 16
        else { return }
        guard let next = format.appending(new, added, to: chunk) else { return }
        (key, value) = (Array(found), next)
      }
    }
    if key.isEmpty { return false }
    if value.count <= PostingFormat.chunkByteCount {
      put(key, value, into: &root)
    } else {
      var list = PostingList()
      list.append(
        new.document, length: new.length, isSingle: added.isSingle, added.occurrences)
      value.removeAll(keepingCapacity: true)
      list.encode(0..<1, format, into: &value)
      putChunk(sought, value, into: &root)
    }
    return true
  }

  /// Edits the chunk of a term in which a document is, or belongs.
  private func edit(
    _ root: inout TreeRoot, _ term: UnsafeRawBufferPointer, _ document: TextDocument,
    _ body: (inout PostingList) -> Void
  ) {
    let first = TextKey.chunks(of: term)
    var sought = first
    document.append(to: &sought)
    var list = PostingList()
    var key = first
    var pieceCount = 0
    let tree = Tree(root, pages: editor.pages)
    sought.withUnsafeBytes { sought in
      tree.withEntry(atOrBefore: sought) { found, value in
        guard found.starts(with: first) else { return }
        key = TextKey.chunk(ofEntry: found, first: first.count)
        if key.count == found.count { list.append(value) } else { pieceCount = 1 }
      }
    }
    if pieceCount > 0 || list.hasLongChunk {
      let chunk = tree.chunk(at: key, &pieceCount)
      list.removeAll()
      chunk.withUnsafeBytes { list.append($0) }
    }
    let last = list.postings.last?.document
    body(&list)
    for piece in 0..<pieceCount { remove(TextKey.piece(piece, of: key), from: &root) }
    if list.isEmpty { return remove(key, first: first, from: &root) }
    let isAppended = last.map { $0 < document } ?? false
    write(list, at: key, first: first, isAppended: isAppended, into: &root)
  }

  /// Writes postings as one chunk or two.
  private func write(
    _ list: PostingList, at key: [UInt8], first: [UInt8], isAppended: Bool,
    into root: inout TreeRoot
  ) {
    var value: [UInt8] = []
    value.reserveCapacity(PostingFormat.chunkByteCount + 32)
    list.encode(0..<list.count, format, into: &value)
    if list.count == 1 || value.count <= PostingFormat.chunkByteCount {
      return putChunk(key, value, into: &root)
    }
    let middle = isAppended ? list.count - 1 : list.count / 2
    value.removeAll(keepingCapacity: true)
    list.encode(0..<middle, format, into: &value)
    putChunk(key, value, into: &root)
    value.removeAll(keepingCapacity: true)
    list.encode(middle..<list.count, format, into: &value)
    var next = first
    list.postings[middle].document.append(to: &next)
    putChunk(next, value, into: &root)
  }

  /// Writes a chunk, in pieces if it is too long for a page.
  func putChunk(_ key: [UInt8], _ chunk: [UInt8], into root: inout TreeRoot) {
    if chunk.count <= TextKey.pieceByteCount { return put(key, chunk, into: &root) }
    var rest = chunk[TextKey.pieceByteCount...]
    put(key, Array(chunk[..<TextKey.pieceByteCount]), into: &root)
    var piece = 0
    while !rest.isEmpty {
      let part = rest.prefix(TextKey.pieceByteCount)
      put(TextKey.piece(piece, of: key), Array(part), into: &root)
      rest = rest[part.endIndex...]
      piece += 1
    }
  }

  private func remove(_ key: [UInt8], from root: inout TreeRoot) {
    key.withUnsafeBytes { _ = editor.remove(&root, key: $0) }
  }

  /// Removes a chunk without postings. If it is the first of several, the next becomes the first.
  private func remove(_ key: [UInt8], first: [UInt8], from root: inout TreeRoot) {
    remove(key, from: &root)
    guard key == first else { return }
    let tree = Tree(root, pages: editor.pages)
    var next: [UInt8]?
    first.withUnsafeBytes { first in
      var cursor = tree.makeCursor()
      guard cursor.seek(to: first) else { return }
      cursor.withEntry { key, _ in if key.starts(with: first) { next = Array(key) } }
    }
    guard let next else { return }
    var pieceCount = 0
    let chunk = tree.chunk(at: next, &pieceCount)
    remove(next, from: &root)
    for piece in 0..<pieceCount { remove(TextKey.piece(piece, of: next), from: &root) }
    putChunk(first, chunk, into: &root)
  }
}

extension PostingFormat {
  /// The chunk with another posting at its end; nil if the posting does not belong there, or if all
  /// of the chunk has to be encoded anew.
  fileprivate func appending(
    _ new: DocumentPostings, _ added: DocumentPostings.Occurrences, to chunk: UnsafeRawBufferPointer
  ) -> [UInt8]? {
    var scanner = PostingScanner(chunk)
    guard scanner.count > 1, scanner.leastLength <= new.length,
      scanner.hasFront || scanner.count + 1 < PostingFormat.frontCount
    else { return nil }
    var last = TextDocument.none
    while scanner.next() { last = scanner.document }
    guard last < new.document else { return nil }
    var value: [UInt8] = []
    value.reserveCapacity(chunk.count + added.occurrences.count + 32)
    value.append(integer: UInt64(scanner.count + 1) << 1 | (scanner.hasFront ? 1 : 0))
    value.append(integer: scanner.leastLength)
    if scanner.hasFront {
      var front = PostingFront()
      scanner.forEachImpact { front.add($0) }
      front.add(
        PostingImpact(
          frequency: frequency(of: added.occurrences, isSingle: added.isSingle),
          length: new.length))
      front.encode(least: scanner.leastLength, into: &value)
    }
    value.append(contentsOf: UnsafeRawBufferPointer(rebasing: chunk[scanner.postingStart...]))
    PostingWriter.write(1, occurrenceByteCount: added.occurrences.count, to: &value) {
      $0.append(
        new.document, after: last, length: new.length &- scanner.leastLength,
        isSingle: added.isSingle, added.occurrences)
    }
    return value
  }
}

extension TextDocument {
  /// The document as a key.
  var key: [UInt8] {
    var key: [UInt8] = []
    append(to: &key)
    return key
  }
}

extension Tree {
  /// The chunk of a key, its pieces joined.
  func chunk(at key: [UInt8], _ pieceCount: inout Int) -> [UInt8] {
    var chunk = key.withUnsafeBytes { value(of: $0).map { Array($0) } } ?? []
    pieceCount = 0
    while true {
      let piece = TextKey.piece(pieceCount, of: key).withUnsafeBytes { value(of: $0) }
      guard let piece else { return chunk }
      chunk.append(contentsOf: piece)
      pieceCount += 1
    }
  }

  /// The number of terms of all documents, in the order tree of a text index. O(log n).
  var termTotal: UInt64 {
    TextKey.total.withUnsafeBytes { key in
      value(of: key).map { value in
        var reader = PostingBytes(value)
        return reader.integer()
      } ?? 0
    }
  }
}
