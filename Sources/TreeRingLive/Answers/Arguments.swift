// The arguments of a request, checked against its route.

internal import TreeRing
package import TreeRingLog

/// The arguments of a path and a query.
struct Arguments: Sendable {
  private let path: [[UInt8]]
  private let query: [String: [[UInt8]]]

  /// Reads a query.
  ///
  /// - Throws: `invalidInput` for a name that the route does not have, a name given twice that may
  ///   be given once, a missing one, or a malformed escape.
  init(_ path: [[UInt8]], _ text: String, _ route: Route) throws(TreeRingError) {
    var query: [String: [[UInt8]]] = [:]
    for item in text.split(separator: "&") {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(decoding: try Percent.decode(pair[0].utf8), as: UTF8.self)
      guard let parameter = route.parameters.first(where: { $0.name == name }) else {
        throw TreeRingError(.invalidInput, "There is no parameter “\(name)”.")
      }
      let value = pair.count > 1 ? try Percent.decode(pair[1].utf8) : []
      query[name, default: []].append(value)
      if query[name]?.count ?? 0 > 1, !parameter.isRepeated {
        throw TreeRingError(.invalidInput, "The parameter “\(name)” is given twice.")
      }
    }
    for parameter in route.parameters where parameter.isRequired && query[parameter.name] == nil {
      throw TreeRingError(.invalidInput, "The parameter “\(parameter.name)” is missing.")
    }
    self.path = path
    self.query = query
  }

  /// A segment of the path as bytes.
  func bytes(_ index: Int) -> [UInt8] { index < path.count ? path[index] : [] }

  /// A segment of the path as text.
  func text(_ index: Int) throws(TreeRingError) -> String {
    try Self.text(bytes(index), "A part of the path")
  }

  /// The bytes of a parameter; nil if it is not given.
  func bytes(_ name: String) -> [UInt8]? { query[name]?.first }

  /// The text of a parameter; nil if it is not given.
  func text(_ name: String) throws(TreeRingError) -> String? {
    guard let bytes = bytes(name) else { return nil }
    return try Self.text(bytes, "The parameter “\(name)”")
  }

  /// The texts of a parameter that may be repeated.
  func texts(_ name: String) throws(TreeRingError) -> [String] {
    var texts: [String] = []
    for bytes in query[name] ?? [] {
      texts.append(try Self.text(bytes, "The parameter “\(name)”"))
    }
    return texts
  }

  /// The point of a parameter; nil if it is not given.
  func point(_ name: String) throws(TreeRingError) -> Point? {
    guard let text = try text(name) else { return nil }
    return try Point(text)
  }

  /// The number of a parameter; nil if it is not given.
  func integer(_ name: String) throws(TreeRingError) -> Int? {
    guard let text = try text(name) else { return nil }
    guard let number = Int(text), number >= 0, text.utf8.allSatisfy({ $0 >= 0x30 }) else {
      throw TreeRingError(
        .invalidInput, "The parameter “\(name)” must be a whole number, not “\(text)”.")
    }
    return number
  }

  /// Whether a flag is set: it is present and neither `false` nor `0`.
  func flag(_ name: String) throws(TreeRingError) -> Bool {
    switch try text(name) {
    case nil, "false"?, "0"?: return false
    case ""?, "true"?, "1"?: return true
    default:
      throw TreeRingError(.invalidInput, "The parameter “\(name)” must be true or false.")
    }
  }

  private static func text(_ bytes: [UInt8], _ what: String) throws(TreeRingError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw TreeRingError(.invalidInput, "\(what) is not valid UTF-8.")
    }
    return text
  }
}

/// Escapes of URLs.
package enum Percent {
  /// The bytes of a text with escapes. A plus sign stands for itself.
  ///
  /// - Throws: `invalidInput` for a percent sign without two hexadecimal digits.
  package static func decode(_ text: some Sequence<UInt8>) throws(TreeRingError) -> [UInt8] {
    var output: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      guard byte == UInt8(ascii: "%") else {
        output.append(byte)
        continue
      }
      guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit)
      else {
        throw TreeRingError(.invalidInput, "The URL has a malformed escape.")
      }
      output.append(high << 4 | low)
    }
    return output
  }

  /// The text of bytes, in which only letters, digits and `-._~` stand for themselves.
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default: text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return text
  }

  /// The segments of a path, without escapes.
  package static func segments(_ path: String) throws(TreeRingError) -> [[UInt8]] {
    var segments: [[UInt8]] = []
    for segment in path.utf8.dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    {
      segments.append(try decode(segment))
    }
    return segments
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// A row as one text, `BUCKET/KEY`, with escapes as in a URL's path.
enum RowPlaceText {
  /// The pattern of such texts.
  static let pattern = "^([^/%]|%[0-9A-Fa-f]{2})+/([^/%]|%[0-9A-Fa-f]{2})*$"

  /// The row of a text.
  ///
  /// - Throws: `invalidInput` if the text has another form.
  static func row(_ text: String) throws(TreeRingError) -> RowID {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw TreeRingError(.invalidInput, "“start” is “next” of a page: BUCKET/KEY.")
    }
    guard let bucket = String(validating: try Percent.decode(parts[0]), as: UTF8.self) else {
      throw TreeRingError(.notFound, "There is no such bucket: names are UTF-8.")
    }
    return RowID(bucket: bucket, key: Key(bytes: try Percent.decode(parts[1])))
  }

  /// The text of a row.
  static func text(_ row: RowID) -> String {
    Percent.encode(row.bucket.utf8) + "/" + Percent.encode(row.key.bytes)
  }
}
