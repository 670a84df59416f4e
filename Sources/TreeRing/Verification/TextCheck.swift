// Compares two text indexes posting by posting, since their chunks may differ.

internal import TreeRingLog

/// A comparison of a text index with one rebuilt from the rows.
struct TextCheck {
  let format: PostingFormat
  let pages: PageStore

  /// The differences; empty if there are none.
  func differences(of name: String, _ old: IndexRoots, _ new: IndexRoots) -> [String] {
    var problems: [String] = []
    let (before, after) = (Tree(old.order, pages: pages), Tree(new.order, pages: pages))
    if before.termTotal != after.termTotal {
      problems.append(
        "the text index \(name) counts \(before.termTotal) terms instead of \(after.termTotal)")
    }
    var difference = TreeDiff(from: old.places, to: new.places, pages: pages)
    difference.forEach { key, known, wanted in
      let what = known == nil ? "lacks" : wanted == nil ? "has a surplus" : "has another"
      problems.append("the text index \(name) \(what) document \(Key(bytes: key))")
      return problems.count < 100
    }
    let (found, wanted) = (terms(before), terms(after))
    for term in Set(found.keys).union(wanted.keys) where problems.count < 100 {
      if found[term] != wanted[term] {
        problems.append("the text index \(name) has other postings of \(Key(bytes: term))")
      }
    }
    return problems
  }

  /// A digest of the postings of every term.
  private func terms(_ tree: Tree) -> [[UInt8]: UInt64] {
    var terms: [[UInt8]: UInt64] = [:]
    var cursor = tree.makeCursor()
    guard cursor.seek(at: 0) else { return terms }
    var chunk: [UInt8] = []
    var last: [UInt8] = []
    func take() {
      if last.isEmpty || last == TextKey.total { return }
      let term = last.withUnsafeBytes { Array(TextKey.term($0)) }
      let list = chunk.withUnsafeBytes { PostingList($0) }
      var digest = terms[term] ?? 0
      for posting in list.postings {
        var bytes = posting.document.key
        bytes.append(integer: posting.length)
        bytes.append(contentsOf: list.bytes[posting.occurrences])
        digest = digest &* 31 &+ bytes.withUnsafeBytes { Digest.of($0) }
      }
      terms[term] = digest
    }
    repeat {
      cursor.withEntry { key, value in
        let first = (key.firstIndex(of: 0) ?? 0) + 1
        let count = TextKey.chunkKeyByteCount(ofEntry: key, first: first)
        if count < key.count, last.elementsEqual(key[..<count]) {
          chunk.append(contentsOf: value)
        } else {
          take()
          (last, chunk) = (Array(key), Array(value))
        }
      }
    } while cursor.next()
    take()
    return terms
  }
}
