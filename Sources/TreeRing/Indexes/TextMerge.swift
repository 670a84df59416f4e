// Runs of a text index under construction: trees with the chunks of some megabytes of words, and
// their merging into one tree.

internal import TreeRingLog

/// Writes the chunks of a tree in key order.
struct ChunkWriter: ~Copyable {
  let editor: TextEditor
  private(set) var root = TreeRoot.empty
  private var first: [UInt8] = []
  private var isFirst = true
  /// The number of chunks of the term since the last one with room.
  private var fullCount = 0
  private static let fullCountBeforeRoom = 32
  private var last = TextDocument.none
  private var postings = PlainArray<Posting>()
  private var occurrences = PlainArray<UInt8>(capacity: 1024)
  /// The bytes of the postings, without those of their lengths; the least length; and the bytes of
  /// the lengths.
  private var byteCount = 0
  private var least = UInt64.max
  private var lengthByteCount = 0
  /// The front of the postings; nil as long as they are far from the limit.
  private var front: PostingFront?
  /// About the most bytes of the head, the least length and the front. The length of a chunk is
  /// computed exactly only if it is closer to the limit than this.
  private static let headByteCount = 20
  private var value: [UInt8] = []

  init(editor: TextEditor) { self.editor = editor }

  /// Begins a term, which is greater than those before.
  mutating func begin(_ term: UnsafeRawBufferPointer) {
    first = TextKey.chunks(of: term)
    isFirst = true
    fullCount = 0
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
    let content = byteCount + size + lengthByteCount
    if content > PostingFormat.chunkByteCount - Self.headByteCount, postings.count > 0,
      !fits(content, length: length, isSingle: isSingle, occurrences)
    {
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

  /// Whether a chunk of the postings and another one is no longer than the limit.
  /// - Parameter content: The bytes of all these postings.
  private mutating func fits(
    _ content: Int, length: UInt64, isSingle: Bool, _ added: UnsafeRawBufferPointer
  ) -> Bool {
    let count = postings.count + 1
    var head = LEB128.byteCount(of: UInt64(count) << 1) + LEB128.byteCount(of: least)
    if content + head > PostingFormat.chunkByteCount { return false }
    if count < PostingFormat.frontCount { return true }
    let format = editor.format
    var next =
      front
      ?? PostingFront(UnsafeBufferPointer(postings.elements), occurrences.bytes, format)
    next.add(
      PostingImpact(
        frequency: format.frequency(of: added, isSingle: isSingle), length: length))
    value.removeAll(keepingCapacity: true)
    var copy = next
    copy.encode(least: least, into: &value)
    head += value.count
    if content + head > PostingFormat.chunkByteCount { return false }
    front = next
    return true
  }

  /// Appends a chunk of a run as it is, if it is full: its documents are later than those before,
  /// and it need not be encoded again. A chunk of the postings before it, which may have room, is
  /// written first; but only behind some full ones, so that few have room.
  /// - Returns: False if its postings have to be appended one by one.
  mutating func append(fullChunk chunk: [UInt8], from document: TextDocument) -> Bool {
    guard chunk.count >= PostingFormat.chunkByteCount * 3 / 4,
      postings.count == 0 || fullCount >= Self.fullCountBeforeRoom
    else { return false }
    if postings.count > 0 {
      write()
      fullCount = 0
    }
    write(chunk, from: document)
    return true
  }

  mutating func finishTerm() { if postings.count > 0 { write() } }

  private mutating func write() {
    value.removeAll(keepingCapacity: true)
    PostingList.encode(
      UnsafeBufferPointer(postings.elements), occurrences.bytes, editor.format, into: &value)
    write(value, from: postings[0].document)
    postings.removeAll()
    occurrences.removeAll()
    (byteCount, least, lengthByteCount) = (0, .max, 0)
    front = nil
    last = .none
  }

  private mutating func write(_ chunk: [UInt8], from document: TextDocument) {
    var key = first
    if !isFirst { document.append(to: &key) }
    editor.putChunk(key, chunk, into: &root)
    isFirst = false
    fullCount += 1
  }
}

/// Merges runs into one tree. Of each run one chunk is in memory.
struct TextMerge: ~Copyable {
  private struct Source: ~Copyable {
    private var cursor: TreeCursor
    private var key: [UInt8] = []
    private(set) var term: [UInt8] = []
    private var chunk: [UInt8] = []
    /// The postings of a copy of the chunk, which does not move.
    private var batch = PostingBatch.allocate(capacity: PostingFormat.chunkByteCount)
    private var bytes = PlainArray<UInt8>(capacity: 1024)
    private var index = 0

    init(_ tree: Tree) {
      cursor = tree.makeCursor()
      if cursor.seek(at: 0) { load() }
    }

    deinit { batch.deallocate() }

    /// Reads the chunk at the cursor, and moves behind it.
    private mutating func load() {
      batch.removeAll()
      index = 0
      guard cursor.isValid else { return }
      // Local while the cursor is used; their memory stays.
      var (key, chunk): ([UInt8], [UInt8]) = ([], [])
      swap(&key, &self.key)
      swap(&chunk, &self.chunk)
      key.removeAll(keepingCapacity: true)
      chunk.removeAll(keepingCapacity: true)
      cursor.withEntry { entry, value in
        key.append(contentsOf: entry)
        chunk.append(contentsOf: value)
      }
      cursor.next()
      let termByteCount = key.firstIndex(of: 0) ?? key.count
      if !term.elementsEqual(key[..<termByteCount]) { term = Array(key[..<termByteCount]) }
      key.append(0)
      while cursor.isValid {
        let isPiece = cursor.withEntry { entry, value in
          guard entry.count == key.count + 2, entry.starts(with: key) else { return false }
          chunk.append(contentsOf: value)
          return true
        }
        if !isPiece { break }
        cursor.next()
      }
      bytes.removeAll()
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
      batch.load(bytes.bytes)
      swap(&key, &self.key)
      swap(&chunk, &self.chunk)
    }

    var isAtEnd: Bool { index >= batch.count }
    var document: TextDocument { batch[index] }

    /// Passes the postings of documents before `bound` on, as far as they are in the present chunk;
    /// the present one in any case.
    mutating func pass(to writer: inout ChunkWriter, before bound: TextDocument) {
      let isWhole = index == 0 && batch[batch.count - 1] < bound
      if isWhole, writer.append(fullChunk: chunk, from: batch[0]) {
        index = batch.count
      } else {
        repeat {
          writer.append(
            batch[index], length: batch.length(index), isSingle: batch.isSingle(index),
            batch.wholeOccurrences(index))
          index += 1
        } while index < batch.count && batch[index] < bound
      }
      if isAtEnd { load() }
    }
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
      var bound = TextDocument.end
      for index in runs.indices where !sources[index].isAtEnd && sources[index].term == term {
        let document = sources[index].document
        if best < 0 || document < sources[best].document {
          if best >= 0 { bound = min(bound, sources[best].document) }
          best = index
        } else {
          bound = min(bound, document)
        }
      }
      if best < 0 { break }
      sources[best].pass(to: &writer, before: bound)
    }
    writer.finishTerm()
  }
}
