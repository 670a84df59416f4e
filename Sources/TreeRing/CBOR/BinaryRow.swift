// Binary rows as JSON, for readers that know no type: the tool, and indexes by fields.
//
// The JSON is what the JSON coder writes for the same row, except for the order of the members.
// Numbers without a JSON form are the strings NaN, Infinity and -Infinity.

internal import TreeRingPlatform

/// The bytes of a binary row, without its type.
package enum BinaryRow {
  /// Whether bytes are marked as a binary row. They may be damaged behind the mark. O(1).
  @inline(__always)
  package static func isMarked(_ bytes: UnsafeRawBufferPointer) -> Bool { CBOR.isMarked(bytes) }

  /// Appends a binary row as JSON. O(bytes).
  ///
  /// - Returns: False, with nothing appended, if the bytes are not a binary row.
  package static func appendJSON(
    of bytes: UnsafeRawBufferPointer, to output: inout [UInt8]
  ) -> Bool {
    guard CBOR.isMarked(bytes) else { return false }
    let count = output.count
    if CBORReader(bytes).appendJSON(at: CBOR.mark.count, to: &output) == bytes.count { return true }
    output.removeLast(output.count - count)
    return false
  }
}

extension CBORReader {
  /// Appends the item at an offset as JSON; on a fault perhaps a part of it.
  ///
  /// - Returns: the offset behind the item; -1 if it is malformed or has no JSON form.
  func appendJSON(
    at offset: Int, to output: inout [UInt8], levels: Int = CBOR.maximumDepth
  ) -> Int {
    guard let head = head(at: offset) else { return -1 }
    switch head.kind {
    case CBOR.Kind.text: return appendText(head, to: &output)
    case CBOR.Kind.bytes:
      guard let range = contents(of: head) else { return -1 }
      let data = Data(UnsafeRawBufferPointer(rebasing: bytes[range]))
      JSONScanner.appendQuoted(data.base64EncodedString(), to: &output)
      return range.upperBound
    case CBOR.Kind.array, CBOR.Kind.map: return appendItems(head, to: &output, levels: levels)
    case CBOR.Kind.simple where bytes[offset] == CBOR.Byte.null: output += "null".utf8
    case CBOR.Kind.simple where bytes[offset] == CBOR.Byte.yes: output += "true".utf8
    case CBOR.Kind.simple where bytes[offset] == CBOR.Byte.no: output += "false".utf8
    case CBOR.Kind.tag where uuid(at: offset) != nil:
      guard let uuid = uuid(at: offset) else { return -1 }
      JSONScanner.appendQuoted(
        UUID(uuid: uuid.loadUnaligned(as: uuid_t.self)).uuidString, to: &output)
      return skip(offset)
    default:
      guard let number = number(at: offset) else { return -1 }
      append(number, to: &output)
      return skip(offset)
    }
    return head.end
  }

  private func appendText(_ head: CBORHead, to output: inout [UInt8]) -> Int {
    guard let range = contents(of: head) else { return -1 }
    let text = UnsafeRawBufferPointer(rebasing: bytes[range])
    guard CBORReader.isText(text) else { return -1 }
    JSONScanner.appendQuoted(text, to: &output)
    return range.upperBound
  }

  private func appendItems(_ head: CBORHead, to output: inout [UInt8], levels: Int) -> Int {
    guard levels > 0, let count = itemCount(of: head) else { return -1 }
    let isMap = head.kind == CBOR.Kind.map
    output.append(UInt8(ascii: isMap ? "{" : "["))
    var at = head.end
    var last: Range<Int>?
    for index in 0..<count {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      if isMap {
        guard let key = self.head(at: at), key.kind == CBOR.Kind.text, let name = contents(of: key),
          last.map({ isAscending($0, name) }) ?? true
        else { return -1 }
        at = appendText(key, to: &output)
        if at < 0 { return -1 }
        last = name
        output.append(UInt8(ascii: ":"))
      }
      at = appendJSON(at: at, to: &output, levels: levels - 1)
      if at < 0 { return -1 }
    }
    output.append(UInt8(ascii: isMap ? "}" : "]"))
    return at
  }

  private func append(_ number: CBORNumber, to output: inout [UInt8]) {
    switch number {
    case .whole(let isNegative, let magnitude):
      if let value = Int64(exactly: magnitude) {
        output += "\(isNegative ? ~value : value)".utf8
      } else if isNegative {
        let (next, isBeyond) = magnitude.addingReportingOverflow(1)
        output += (isBeyond ? "-340282366920938463463374607431768211456" : "-\(next)").utf8
      } else {
        output += "\(magnitude)".utf8
      }
    case .single(let value): append(value, to: &output)
    case .double(let value): append(value, to: &output)
    case .decimal(let number): output += number.description.utf8
    }
  }

  private func append(
    _ value: some BinaryFloatingPoint & CustomStringConvertible, to output: inout [UInt8]
  ) {
    if value.isNaN {
      output += "\"NaN\"".utf8
    } else if value.isInfinite {
      output += (value < 0 ? "\"-Infinity\"" : "\"Infinity\"").utf8
    } else {
      let text = value.description
      output += (text.hasSuffix(".0") ? text.dropLast(2) : text[...]).utf8
    }
  }
}
