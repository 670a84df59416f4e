// The words of a row: its fields, cut by the tokenizer.

internal import TreeRingLog

extension TextIndex {
  var tokenizer: TextTokenizer { TextTokenizer(stemmer: stemmer) }

  /// Calls `body` with every text of an object: the number of its slot, and the UTF-8 of a string
  /// or number; the slots ascend. O(bytes).
  func forEachText(
    of object: UnsafeRawBufferPointer, _ body: (_ slot: Int, _ text: UnsafeRawBufferPointer) -> Void
  ) {
    var entry = FieldEntry()
    var text: [UInt8] = []
    program.forEachValue(of: object, &entry) { field, json in
      guard json.first == UInt8(ascii: "[") else {
        return Self.withText(of: json, &text) { body(field, $0) }
      }
      var array = JSONScanner(json)
      guard (try? array.enterArray()) != nil else { return }
      while let element = (try? array.nextElement()) ?? nil {
        Self.withText(of: array.slice(element), &text) { body(field, $0) }
      }
    }
  }

  /// Calls `body` with the text of a string or number.
  private static func withText(
    of json: UnsafeRawBufferPointer, _ text: inout [UInt8],
    _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    switch json.first ?? 0 {
    case UInt8(ascii: "\""):
      let inner = UnsafeRawBufferPointer(rebasing: json[1..<(json.count - 1)])
      guard inner.contains(UInt8(ascii: "\\")) else { return body(inner) }
      text.removeAll(keepingCapacity: true)
      JSONScanner.appendString(json, to: &text)
      text.withUnsafeBytes(body)
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): body(json)
    default: break
    }
  }

  /// Adds the words of an object to a collector, as its next document.
  func collect(_ object: UnsafeRawBufferPointer, into collector: TermCollector) {
    collector.beginDocument()
    let (tokenizer, format) = (tokenizer, format)
    var next = 0
    var last = -1
    forEachText(of: object) { field, text in
      // Texts of one field are so far apart that no phrase goes on in the next.
      let first = field == last ? next + 2 : 0
      last = field
      next = tokenizer.forEach(in: text, from: first) { token in
        collector.add(token.term, place: format.place(token.position, field: field))
      }
    }
  }

  /// The words of a row.
  func postings(
    of record: RowRecord, _ object: UnsafeRawBufferPointer, _ collector: TermCollector
  ) -> DocumentPostings {
    collect(object, into: collector)
    return DocumentPostings(collector, of: TextDocument(record.created), format)
  }
}
