// A parser of HTTP/1.1 answers (RFC 9112), fed with bytes in any split. An answer that ends before
// its length, or before the last chunk, is a lost connection.

/// The reason for which a connection cannot be used further.
package struct ConnectionLost: Error, Hashable {
  /// The reason in words.
  package let reason: String

  package init(reason: String) { self.reason = reason }
}

/// The state of the parser between two pieces.
package struct AnswerParser {
  private enum Expected: Equatable {
    case statusLine
    case headers
    /// So many bytes of the body; nil for all up to the end of the connection.
    case body(Int?)
    case chunkSize
    case chunk(Int)
    case chunkEnd
    case trailers
    case nothing
  }

  package init() {}

  private static let longestLine = 1 << 16
  private static let mostHeaders = 256

  private var expected = Expected.statusLine
  private var line: [UInt8] = []
  private var status = 0
  private var headers: [String: String] = [:]
  private var headerCount = 0

  /// Whether the answer is complete.
  package var isComplete: Bool { expected == .nothing }

  /// Takes the next bytes and returns the pieces that they complete. Bytes after the answer have no
  /// meaning. O(bytes).
  package mutating func take(_ bytes: [UInt8]) throws(ConnectionLost) -> [HTTPAnswer] {
    var pieces: [HTTPAnswer] = []
    var rest = bytes[...]
    while !rest.isEmpty, !isComplete {
      switch expected {
      case .body(let count?):
        pieces.append(.bytes(take(count, of: &rest)))
        let left = count - pieces[pieces.count - 1].byteCount
        expected = left == 0 ? .nothing : .body(left)
      case .body(nil):
        pieces.append(.bytes(take(.max, of: &rest)))
      case .chunk(let count):
        pieces.append(.bytes(take(count, of: &rest)))
        let left = count - pieces[pieces.count - 1].byteCount
        expected = left == 0 ? .chunkEnd : .chunk(left)
      case .statusLine, .headers, .chunkSize, .chunkEnd, .trailers, .nothing:
        guard let text = try nextLine(&rest) else { return pieces }
        if let head = try takeLine(text) { pieces.append(head) }
      }
    }
    return pieces
  }

  /// Takes the end of the connection.
  /// - Throws: `ConnectionLost` if the answer is not complete.
  package mutating func end() throws(ConnectionLost) {
    if expected == .body(nil) { expected = .nothing }
    if !isComplete { throw ConnectionLost(reason: "the answer ended too early") }
  }

  private func take(_ count: Int, of rest: inout ArraySlice<UInt8>) -> [UInt8] {
    let taken = rest.prefix(count)
    rest = rest.dropFirst(taken.count)
    return Array(taken)
  }

  /// The next line without its end; nil if that has not come yet.
  private mutating func nextLine(
    _ rest: inout ArraySlice<UInt8>
  ) throws(ConnectionLost) -> String? {
    while let byte = rest.popFirst() {
      if byte != 0x0A {
        line.append(byte)
        if line.count > Self.longestLine { throw ConnectionLost(reason: "a header is too long") }
        continue
      }
      if line.last == 0x0D { line.removeLast() }
      defer { line = [] }
      return String(decoding: line, as: UTF8.self)
    }
    return nil
  }

  /// Takes a line; returns the head that it completes.
  private mutating func takeLine(_ text: String) throws(ConnectionLost) -> HTTPAnswer? {
    switch expected {
    case .statusLine:
      let words = text.split(separator: " ", maxSplits: 2)
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
        let status = Int(words[1]), status >= 100
      else { throw ConnectionLost(reason: "the answer is not HTTP") }
      self.status = status
      expected = .headers
    case .headers:
      if text.isEmpty { return try endHead() }
      try takeHeader(text)
    case .chunkSize:
      let size = text.prefix { $0 != ";" && $0 != " " }
      guard let count = Int(size, radix: 16), count >= 0, !size.hasPrefix("+") else {
        throw ConnectionLost(reason: "the size of a chunk is malformed")
      }
      expected = count == 0 ? .trailers : .chunk(count)
    case .chunkEnd:
      if !text.isEmpty { throw ConnectionLost(reason: "a chunk is longer than its size") }
      expected = .chunkSize
    case .trailers: if text.isEmpty { expected = .nothing }
    case .body, .chunk, .nothing: break
    }
    return nil
  }

  private mutating func takeHeader(_ text: String) throws(ConnectionLost) {
    headerCount += 1
    guard let colon = text.firstIndex(of: ":"), colon > text.startIndex,
      headerCount <= Self.mostHeaders
    else { throw ConnectionLost(reason: "a header is malformed") }
    let blank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var value = text[text.index(after: colon)...].drop(while: blank)
    while let last = value.last, blank(last) { value.removeLast() }
    headers[text[..<colon].lowercased()] = String(value)
  }

  private mutating func endHead() throws(ConnectionLost) -> HTTPAnswer? {
    defer {
      headers = [:]
      headerCount = 0
    }
    // An interim answer precedes the real one.
    if status < 200 {
      expected = .statusLine
      return nil
    }
    if status == 204 || status == 304 {
      expected = .nothing
    } else if let coding = headers["transfer-encoding"] {
      guard coding.lowercased() == "chunked" else {
        throw ConnectionLost(reason: "the transfer encoding \(coding) is not supported")
      }
      expected = .chunkSize
    } else if let length = headers["content-length"] {
      guard let count = Int(length), count >= 0 else {
        throw ConnectionLost(reason: "the length of the answer is malformed")
      }
      expected = count == 0 ? .nothing : .body(count)
    } else {
      expected = .body(nil)
    }
    return .head(status: status, headers: headers)
  }
}

extension HTTPAnswer {
  /// The bytes of the body in this piece.
  var byteCount: Int {
    if case .bytes(let bytes) = self { bytes.count } else { 0 }
  }
}
