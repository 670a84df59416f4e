// Builds the trees of a text index from rows. Words are collected in memory, some megabytes at a
// time; each time a sorted run of them is written as a tree of its own, whose pages are full. At
// the end the runs are merged (Knuth, The Art of Computer Programming, volume 3, 5.4.1).

internal import TreeRingLog

/// The words of a text index under construction.
final class TextDraft {
  /// The default limit of bytes in memory.
  static let byteLimit = 32 << 20

  let text: TextIndex
  private let editor: PageEditor
  private let byteLimit: Int
  private let collector = TermCollector()
  /// The documents of the present run in the order of their arrival.
  @exclusivity(unchecked) private var documents = PlainArray<Document>()
  @exclusivity(unchecked) private var areSorted = true
  /// The postings of the present run in the order of their arrival.
  @exclusivity(unchecked) private var postings = PlainArray<Posting>()
  /// The occurrences of postings with several of them.
  @exclusivity(unchecked) private var occurrences = PlainArray<UInt8>()
  @exclusivity(unchecked) private var runs: [TreeRoot] = []
  @exclusivity(unchecked) private var total: UInt64 = 0

  private struct Document {
    var commit: UInt64
    var operation: UInt32
    var length: UInt32

    var document: TextDocument {
      @inline(__always) get { TextDocument(commit: commit, operation: UInt64(operation)) }
    }
  }

  private struct Posting {
    var term: UInt32
    /// The number of the document in the run, twice, and 1 for a single occurrence.
    var document: UInt32
    /// The integer of a single occurrence; otherwise the offset of the occurrences.
    var value: UInt32

    var isSingle: Bool {
      @inline(__always) get { document & 1 != 0 }
    }
    var documentNumber: Int {
      @inline(__always) get { Int(document >> 1) }
    }
  }

  /// The postings of a run by their terms.
  private struct SortedPostings: ~Copyable {
    /// The indexes of the postings.
    var indexes: PlainArray<UInt32>
    /// The position of the first index of each term, in the order of the terms; then the end.
    var starts: PlainArray<UInt32>
  }

  init(text: TextIndex, editor: PageEditor, byteLimit: Int = TextDraft.byteLimit) {
    self.text = text
    self.editor = editor
    self.byteLimit = byteLimit
  }

  /// The memory that the run takes, with that of its sorting.
  private var byteCount: Int {
    postings.count * (MemoryLayout<Posting>.stride + 4) + occurrences.count
      + documents.count * MemoryLayout<Document>.stride + collector.byteCount
  }

  var isFull: Bool { byteCount >= byteLimit }

  /// Adds the words of a row; returns the key of its document, or nil if it has none.
  func add(_ row: RowInput) -> [UInt8]? {
    text.collect(row.object, into: collector)
    if collector.length == 0 { return nil }
    let created = row.record.created
    let document = TextDocument(created)
    let number = UInt32(documents.count)
    if number > 0, document < documents[Int(number) - 1].document { areSorted = false }
    documents.append(
      Document(
        commit: created.commit, operation: created.operation, length: UInt32(collector.length)))
    total += UInt64(collector.length)
    let format = text.format
    collector.forEachPresent { term, places in
      var posting = Posting(term: UInt32(term), document: number << 1, value: 0)
      if let integer = format.single(places) {
        posting.document |= 1
        posting.value = integer
      } else {
        posting.value = UInt32(occurrences.count)
        _ = format.append(places, to: &occurrences)
      }
      postings.append(posting)
    }
    return document.key
  }

  /// Writes the words in memory as a run.
  func writeRun(_ spill: SpillAction?) throws(TreeRingError) {
    if documents.count == 0 { return }
    var writer = ChunkWriter(editor: TextEditor(editor: editor, format: text.format))
    let order = KeySorter.order(of: (0..<collector.count).map { collector.term($0) })
    let sorted = sortPostings(order)
    var encoded = PlainArray<UInt8>()
    for (rank, number) in order.enumerated() {
      writer.begin(collector.term(number))
      let range = Int(sorted.starts[rank])..<Int(sorted.starts[rank + 1])
      write(range, of: sorted.indexes, to: &writer, &encoded)
      writer.finishTerm()
      if rank & 63 == 63 { try spill?(editor) }
    }
    runs.append(writer.root)
    collector.removeAll()
    documents.removeAll()
    postings.removeAll()
    occurrences.removeAll()
    areSorted = true
  }

  /// Sorts the postings by their terms; those of a term keep their order. O(n), by counting.
  /// - Parameter order: The numbers of the terms in their order.
  private func sortPostings(_ order: [Int]) -> SortedPostings {
    var ranks = PlainArray<UInt32>(repeating: 0, count: order.count + 1)
    for (rank, number) in order.enumerated() { ranks[number] = UInt32(rank) }
    // The start of a term is at its rank plus one, until its postings have moved it to its end.
    var starts = PlainArray<UInt32>(repeating: 0, count: order.count + 2)
    for posting in postings.elements { starts[Int(ranks[Int(posting.term)]) + 2] += 1 }
    for rank in 1..<starts.count { starts[rank] += starts[rank - 1] }
    var sorted = PlainArray<UInt32>(repeating: 0, count: postings.count)
    for index in 0..<postings.count {
      let next = Int(ranks[Int(postings[index].term)]) + 1
      sorted[Int(starts[next])] = UInt32(index)
      starts[next] += 1
    }
    return SortedPostings(indexes: sorted, starts: starts)
  }

  /// Writes the postings of a term. Those that follow, and what they refer to, are prefetched: in
  /// order of terms each of them would miss the caches.
  private func write(
    _ range: Range<Int>, of sorted: borrowing PlainArray<UInt32>, to writer: inout ChunkWriter,
    _ encoded: inout PlainArray<UInt8>
  ) {
    if !areSorted {
      var unsorted = UnsafeMutableBufferPointer(rebasing: sorted.elements[range])
      unsorted.sort { document(Int($0)) < document(Int($1)) }
    }
    for position in range {
      if position + 24 < sorted.count { postings.prefetch(Int(sorted[position + 24])) }
      if position + 12 < sorted.count {
        let coming = postings[Int(sorted[position + 12])]
        documents.prefetch(coming.documentNumber)
        if !coming.isSingle { occurrences.prefetch(Int(coming.value)) }
      }
      let posting = postings[Int(sorted[position])]
      let document = documents[posting.documentNumber]
      let bytes: UnsafeRawBufferPointer
      if posting.isSingle {
        encoded.removeAll()
        encoded.append(integer: UInt64(posting.value))
        bytes = encoded.bytes
      } else {
        var reader = PostingBytes(occurrences.bytes)
        reader.position = Int(posting.value)
        reader.skip(reader.integer())
        bytes = UnsafeRawBufferPointer(
          rebasing: occurrences.bytes[Int(posting.value)..<reader.position])
      }
      writer.append(
        document.document, length: UInt64(document.length), isSingle: posting.isSingle, bytes)
    }
  }

  private func document(_ posting: Int) -> TextDocument {
    documents[postings[posting].documentNumber].document
  }

  /// Writes the rest, merges the runs and sets the order tree.
  func finish(_ roots: inout IndexRoots, _ spill: SpillAction?) throws(TreeRingError) {
    try writeRun(spill)
    if runs.count > 1 {
      let textEditor = TextEditor(editor: editor, format: text.format)
      var merge = TextMerge(runs: runs, editor: textEditor)
      do throws(TreeRingError) {
        try merge.run(spill)
      } catch {
        runs.append(merge.writer.root)
        throw error
      }
      for index in runs.indices { editor.removeAll(&runs[index]) }
      runs = [merge.writer.root]
    }
    roots.order = runs.first ?? .empty
    runs = []
    TextEditor(editor: editor, format: text.format).setTotal(
      adding: total, removing: 0, in: &roots.order)
  }

  /// Removes the runs.
  func discard() {
    for index in runs.indices { editor.removeAll(&runs[index]) }
    runs = []
  }
}
