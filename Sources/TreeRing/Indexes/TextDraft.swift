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
  @exclusivity(unchecked) private var documents: [(document: TextDocument, length: UInt64)] = []
  @exclusivity(unchecked) private var areSorted = true
  /// The postings of the present run, and behind each its occurrences; those of a term form a chain
  /// of offsets, which 0 ends.
  @exclusivity(unchecked) private var bytes = PlainArray<UInt8>(repeating: 0, count: 1)
  /// The first and the last posting of each term; 0 for none.
  @exclusivity(unchecked) private var chains = PlainArray<(first: UInt32, last: UInt32)>()
  @exclusivity(unchecked) private var runs: [TreeRoot] = []
  @exclusivity(unchecked) private var total: UInt64 = 0

  /// The fixed part of a posting in memory.
  private struct Posting {
    static let byteCount = 12
    var next: UInt32 = 0
    var document: UInt32
    /// The length of the occurrences, and whether there is a single one in the lowest bit.
    var size: UInt32 = 0
  }

  init(text: TextIndex, editor: PageEditor, byteLimit: Int = TextDraft.byteLimit) {
    self.text = text
    self.editor = editor
    self.byteLimit = byteLimit
  }

  private var byteCount: Int { bytes.count + documents.count * 24 + collector.byteCount }

  var isFull: Bool { byteCount >= byteLimit }

  /// Adds the words of a row; returns the key of its document, or nil if it has none.
  func add(_ row: RowInput) -> [UInt8]? {
    text.collect(row.object, into: collector)
    if collector.length == 0 { return nil }
    let document = TextDocument(row.record.created)
    if let last = documents.last?.document, document < last { areSorted = false }
    let number = UInt32(documents.count)
    documents.append((document, UInt64(collector.length)))
    total += UInt64(collector.length)
    let format = text.format
    while chains.count < collector.count { chains.append((0, 0)) }
    collector.forEachPresent { term, places in
      let start = bytes.count
      bytes.append(bytesOf: Posting(document: number))
      let isSingle = format.append(places, to: &bytes)
      let size = UInt32(bytes.count - start - Posting.byteCount) << 1 | (isSingle ? 1 : 0)
      bytes.store(size, at: start + 8)
      if chains[term].first == 0 {
        chains[term].first = UInt32(start)
      } else {
        bytes.store(UInt32(start), at: Int(chains[term].last))
      }
      chains[term].last = UInt32(start)
    }
    return document.key
  }

  /// Writes the words in memory as a run.
  func writeRun(_ spill: SpillAction?) throws(TreeRingError) {
    if documents.isEmpty { return }
    var writer = ChunkWriter(editor: TextEditor(editor: editor, format: text.format))
    let order = KeySorter.order(of: (0..<collector.count).map { collector.term($0) })
    for (position, number) in order.enumerated() {
      if number >= chains.count || chains[number].first == 0 { continue }
      writer.begin(collector.term(number))
      documents.withUnsafeBufferPointer {
        write(Int(chains[number].first), $0, to: &writer)
      }
      writer.finishTerm()
      if position & 63 == 63 { try spill?(editor) }
    }
    runs.append(writer.root)
    collector.removeAll()
    documents.removeAll(keepingCapacity: true)
    bytes.removeAll(from: 1)
    chains.removeAll()
    areSorted = true
  }

  /// Writes the chain of postings from an offset on.
  private func write(
    _ first: Int, _ documents: UnsafeBufferPointer<(document: TextDocument, length: UInt64)>,
    to writer: inout ChunkWriter
  ) {
    let all = bytes.bytes
    var offset = first
    var unsorted: [(document: TextDocument, offset: Int)] = []
    while offset != 0 {
      let posting = all.loadUnaligned(fromByteOffset: offset, as: Posting.self)
      if areSorted {
        append(posting, at: offset, all, documents, to: &writer)
      } else {
        unsorted.append((documents[Int(posting.document)].document, offset))
      }
      offset = Int(posting.next)
    }
    unsorted.sort { $0.document < $1.document }
    for (_, offset) in unsorted {
      let posting = all.loadUnaligned(fromByteOffset: offset, as: Posting.self)
      append(posting, at: offset, all, documents, to: &writer)
    }
  }

  @inline(__always)
  private func append(
    _ posting: Posting, at offset: Int, _ all: UnsafeRawBufferPointer,
    _ documents: UnsafeBufferPointer<(document: TextDocument, length: UInt64)>,
    to writer: inout ChunkWriter
  ) {
    let (document, length) = documents[Int(posting.document)]
    let start = offset + Posting.byteCount
    writer.append(
      document, length: length, isSingle: posting.size & 1 != 0,
      UnsafeRawBufferPointer(rebasing: all[start..<start + Int(posting.size >> 1)]))
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

/// Writes the chunks of a tree in key order.
struct ChunkWriter: ~Copyable {
  let editor: TextEditor
  private(set) var root = TreeRoot.empty
  private var first: [UInt8] = []
  private var isFirst = true
  private var last = TextDocument.none
  private var postings = PlainArray<Posting>()
  private var occurrences = PlainArray<UInt8>(capacity: 1024)
  /// The bytes of the postings, without those of their lengths; the least length; and the bytes of
  /// the lengths.
  private var byteCount = 0
  private var least = UInt64.max
  private var lengthByteCount = 0
  /// The most bytes of the head, the least length and the front.
  private static let headByteCount = 20
  private var value: [UInt8] = []

  init(editor: TextEditor) { self.editor = editor }

  /// Begins a term, which is greater than those before.
  mutating func begin(_ term: UnsafeRawBufferPointer) {
    first = TextKey.chunks(of: term)
    isFirst = true
  }

  /// Appends a posting, whose document is later than those before.
  @inline(__always)
  mutating func append(
    _ document: TextDocument, length: UInt64, isSingle: Bool, _ occurrences: UnsafeRawBufferPointer
  ) {
    var size = PostingList.byteCount(of: document, after: last, occurrences: occurrences.count)
    if length < least {
      least = length
      lengthByteCount = postings.elements.reduce(0) {
        $0 + LEB128.byteCount(of: $1.length &- length)
      }
    }
    lengthByteCount += LEB128.byteCount(of: length &- least)
    let limit = PostingFormat.chunkByteCount - Self.headByteCount
    if byteCount + size + lengthByteCount > limit, postings.count > 0 {
      write()
      size = PostingList.byteCount(of: document, after: .none, occurrences: occurrences.count)
      (least, lengthByteCount) = (length, 1)
    }
    byteCount += size
    let start = self.occurrences.count
    self.occurrences.append(contentsOf: occurrences)
    postings.append(
      Posting(
        document, length: length, isSingle: isSingle,
        occurrences: start..<self.occurrences.count))
    last = document
  }

  mutating func finishTerm() { if postings.count > 0 { write() } }

  private mutating func write() {
    var key = first
    if !isFirst { postings[0].document.append(to: &key) }
    value.removeAll(keepingCapacity: true)
    PostingList.encode(
      UnsafeBufferPointer(postings.elements), occurrences.bytes, editor.format, into: &value)
    editor.putChunk(key, value, into: &root)
    isFirst = false
    postings.removeAll()
    occurrences.removeAll()
    (byteCount, least, lengthByteCount) = (0, .max, 0)
    last = .none
  }
}

/// Merges runs into one tree. Of each run one chunk is in memory.
struct TextMerge: ~Copyable {
  private struct Source: ~Copyable {
    var cursor: TreeCursor
    var term: [UInt8] = []
    var list = PostingList()
    var index = 0

    init(_ tree: Tree) {
      cursor = tree.makeCursor()
      if cursor.seek(at: 0) { load() }
    }

    /// Reads the chunk at the cursor, and moves behind it.
    mutating func load() {
      list.removeAll()
      index = 0
      guard cursor.isValid else { return }
      var chunk: [UInt8] = []
      var key: [UInt8] = []
      cursor.withEntry { entry, value in
        key = Array(entry)
        chunk = Array(value)
      }
      term = key.withUnsafeBytes { Array(TextKey.term($0)) }
      cursor.next()
      let prefix = key + [0]
      while cursor.isValid {
        let isPiece = cursor.withEntry { entry, value in
          guard entry.count == prefix.count + 2, entry.starts(with: prefix) else { return false }
          chunk.append(contentsOf: value)
          return true
        }
        if !isPiece { break }
        cursor.next()
      }
      chunk.withUnsafeBytes { list.append($0) }
    }

    var isAtEnd: Bool { index >= list.count }
    var document: TextDocument { list.postings[index].document }
  }

  private let pages: PageStore
  private let runs: [TreeRoot]
  private(set) var writer: ChunkWriter

  init(runs: [TreeRoot], editor: TextEditor) {
    pages = editor.editor.pages
    self.runs = runs
    writer = ChunkWriter(editor: editor)
  }

  mutating func run(_ spill: SpillAction?) throws(TreeRingError) {
    let sources = UnsafeMutablePointer<Source>.allocate(capacity: runs.count)
    for (index, run) in runs.enumerated() {
      (sources + index).initialize(to: Source(Tree(run, pages: pages)))
    }
    defer {
      sources.deinitialize(count: runs.count)
      sources.deallocate()
    }
    var termCount = 0
    while true {
      var least: [UInt8]?
      for index in runs.indices where !sources[index].isAtEnd {
        if let known = least, !sources[index].term.lexicographicallyPrecedes(known) { continue }
        least = sources[index].term
      }
      guard let term = least else { return }
      try pages.read { merge(term, sources) }
      termCount += 1
      if termCount & 63 == 0 { try spill?(writer.editor.editor) }
    }
  }

  /// Merges the postings of one term.
  private mutating func merge(_ term: [UInt8], _ sources: UnsafeMutablePointer<Source>) {
    term.withUnsafeBytes { writer.begin($0) }
    while true {
      var best = -1
      for index in runs.indices where !sources[index].isAtEnd && sources[index].term == term {
        if best < 0 || sources[index].document < sources[best].document { best = index }
      }
      if best < 0 { break }
      let position = sources[best].index
      let posting = sources[best].list.postings[position]
      sources[best].list.bytes.withUnsafeBytes {
        writer.append(
          posting.document, length: posting.length, isSingle: posting.isSingle,
          UnsafeRawBufferPointer(rebasing: $0[posting.occurrences]))
      }
      sources[best].index += 1
      if sources[best].isAtEnd { sources[best].load() }
    }
    writer.finishTerm()
  }
}
