// The postings of one document, term by term: the difference between two of them is the edit of an
// index.

internal import TreeRingLog

/// The terms of a document with their occurrences.
struct DocumentPostings {
  /// A term and its occurrences, as ranges of the bytes.
  struct Entry {
    var term: Range<Int>
    var occurrences: Range<Int>
    var isSingle: Bool
  }

  var document: TextDocument
  /// The number of terms, each counted as often as it occurs.
  private(set) var length: UInt64
  private(set) var bytes: [UInt8] = []
  /// The terms in ascending order.
  private(set) var entries: [Entry] = []

  /// The present document of a collector. O(n log n) for n terms.
  init(_ collector: TermCollector, of document: TextDocument, _ format: PostingFormat) {
    self.document = document
    length = UInt64(collector.length)
    var bytes = PlainArray<UInt8>(capacity: 2048)
    collector.forEachPresent { number, places in
      let start = bytes.count
      bytes.append(contentsOf: collector.term(number))
      let middle = bytes.count
      let isSingle = format.append(places, to: &bytes)
      entries.append(
        Entry(term: start..<middle, occurrences: middle..<bytes.count, isSingle: isSingle))
    }
    let all = bytes.bytes
    let order = KeySorter.order(of: entries.map { UnsafeRawBufferPointer(rebasing: all[$0.term]) })
    entries = order.map { entries[$0] }
    self.bytes = Array(all)
  }

  /// The document, unless it has no words: then it is not in the index.
  var indexed: DocumentPostings? { length > 0 ? self : nil }

  /// The occurrences of a term in one document.
  struct Occurrences {
    var occurrences: UnsafeRawBufferPointer
    var isSingle: Bool
  }

  /// Calls `body` with each term of two documents in order, and its occurrences in both.
  static func forEachDifference(
    from old: DocumentPostings?, to new: DocumentPostings?,
    _ body: (_ term: UnsafeRawBufferPointer, _ old: Occurrences?, _ new: Occurrences?) -> Void
  ) {
    (old?.bytes ?? []).withUnsafeBytes { oldBytes in
      (new?.bytes ?? []).withUnsafeBytes { newBytes in
        var before = Side(entries: old?.entries ?? [], bytes: oldBytes)
        var after = Side(entries: new?.entries ?? [], bytes: newBytes)
        while true {
          switch (before.term, after.term) {
          case (nil, nil): return
          case (let term?, nil): body(term, before.take(), nil)
          case (nil, let term?): body(term, nil, after.take())
          case (let left?, let right?):
            let order = KeyOrder.compare(left, right)
            body(
              order <= 0 ? left : right, order <= 0 ? before.take() : nil,
              order >= 0 ? after.take() : nil)
          }
        }
      }
    }
  }

  private struct Side {
    let entries: [Entry]
    let bytes: UnsafeRawBufferPointer
    private var index = 0

    init(entries: [Entry], bytes: UnsafeRawBufferPointer) {
      (self.entries, self.bytes) = (entries, bytes)
    }

    var term: UnsafeRawBufferPointer? {
      index < entries.count ? UnsafeRawBufferPointer(rebasing: bytes[entries[index].term]) : nil
    }

    mutating func take() -> Occurrences {
      let entry = entries[index]
      index += 1
      return Occurrences(
        occurrences: UnsafeRawBufferPointer(rebasing: bytes[entry.occurrences]),
        isSingle: entry.isSingle)
    }
  }
}
