// Answers of HTTP/1.1 in any split.

import Testing

@testable import TreeRingHTTP

@Suite struct AnswerParserTests {
  /// The status and the body of an answer that comes in these pieces.
  private func parse(_ pieces: [ArraySlice<UInt8>]) throws -> (status: Int, body: String) {
    var parser = AnswerParser()
    var status = 0
    var body: [UInt8] = []
    for piece in pieces {
      for part in try parser.take(Array(piece)) {
        switch part {
        case .head(let code, let headers):
          #expect(status == 0 && headers["content-type"] != "")
          status = code
        case .bytes(let bytes):
          #expect(status != 0)
          body += bytes
        }
      }
    }
    if !parser.isComplete { try parser.end() }
    return (status, String(decoding: body, as: UTF8.self))
  }

  /// Answers, and their bodies.
  static let examples: [(String, String)] = [
    ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    ("HTTP/1.1 200 \r\ncontent-length:0\r\n\r\n", ""),
    ("HTTP/1.0 200 OK\nX: y\n\nabc", "abc"),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
      "abcd"
    ),
    (
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n",
      "0123456789"
    ),
    ("HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x"),
    ("HTTP/1.1 204 No Content\r\n\r\n", ""),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxyz", "x"),
  ]

  @Test(arguments: examples.indices) func everySplitGivesTheSameAnswer(index: Int) throws {
    let (text, body) = Self.examples[index]
    let bytes = Array(text.utf8)
    #expect(try parse(bytes.indices.map { bytes[$0...$0] }).body == body)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
        #expect(try parse(pieces).body == body, "\(text.debugDescription) at \(first), \(second)")
      }
    }
  }

  @Test(arguments: [0, 1, 3, 4]) func anAnswerThatEndsTooEarlyIsALostConnection(index: Int) {
    let bytes = Array(Self.examples[index].0.utf8)
    for count in bytes.indices {
      #expect(throws: ConnectionLost.self, "\(count)") { try parse([bytes[..<count]]) }
    }
  }

  @Test(arguments: [
    "SSH-2.0\r\n", "HTTP/2 200\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n: x\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    String(repeating: "a", count: 70_000),
    "HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 300),
  ]) func somethingElseIsALostConnection(text: String) {
    #expect(throws: ConnectionLost.self) { try parse([Array(text.utf8)[...]]) }
  }
}
