// Sockets of the fake server: listening on the loopback interface, reading a request, writing
// pieces.

import Foundation
import TreeRingPlatform

/// A request as it came: its first line and its headers.
struct FakeRequest: Sendable {
  var method = ""
  /// The path's parts, decoded, without `.json`.
  var path: [String] = []
  /// The parameters, decoded, in order.
  var parameters: [(name: String, value: String)] = []
  /// The headers by name in lower case.
  var headers: [String: String] = [:]
  /// The reason for which it is no request of the protocol.
  var flaw: String?
  /// The number of the request, from 0.
  var number = 0

  var isStream: Bool { headers["accept"] == "text/event-stream" }
  subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  /// Reads the head of a request, strictly.
  init(_ head: String, number: Int) {
    self.number = number
    let lines = head.components(separatedBy: "\r\n")
    let words = lines[0].components(separatedBy: " ")
    guard words.count == 3, words[2] == "HTTP/1.1" else {
      flaw = "no request line: \(lines[0])"
      return
    }
    method = words[0]
    if method != "GET" { flaw = "the method \(method)" }
    for line in lines.dropFirst() where !line.isEmpty {
      guard let colon = line.firstIndex(of: ":") else {
        flaw = "the header \(line)"
        continue
      }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      headers[line[..<colon].lowercased()] = String(value)
    }
    if headers["host"] == nil { flaw = "no host" }
    let parts = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].hasPrefix("/"), parts[0].hasSuffix(".json") else {
      flaw = "the path \(parts[0])"
      return
    }
    path = parts[0].dropLast(5).split(separator: "/").map { decoded($0) }
    if parts.count > 1 {
      for pair in parts[1].split(separator: "&", omittingEmptySubsequences: false) {
        let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if sides.count != 2 { flaw = "the parameter \(pair)" }
        parameters.append((decoded(sides[0]), sides.count == 2 ? decoded(sides[1]) : ""))
      }
    }
    let names = parameters.map(\.name)
    if Set(names).count != names.count { flaw = "a parameter twice: \(names)" }
  }

  private mutating func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        if byte == UInt8(ascii: "%") || byte == UInt8(ascii: "+") || byte >= 0x7F {
          flaw = "the encoding of \(text)"
        }
        bytes.append(byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      flaw = "no UTF-8 in \(text)"
      return ""
    }
    return text
  }
}

/// A connection to a client.
final class FakeConnection: Sendable {
  private let descriptor: Int32
  init(_ descriptor: Int32) { self.descriptor = descriptor }
  deinit { _ = TreeRingPlatform.close(descriptor) }

  /// The head of a request, up to the empty line; nil if the client closes first.
  func head() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard recv(descriptor, &byte, 1, 0) == 1, bytes.count < 100_000 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes bytes, in pieces of a size if there is one; false once the client has closed.
  @discardableResult
  func write(_ text: String, piece: Int? = nil) -> Bool {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + (piece ?? bytes.count))
      if Platform.send(descriptor, Array(bytes[start..<end])) != nil { return false }
      start = end
      if piece != nil { sched_yield() }
    }
    return true
  }

  /// Whether the client has closed the connection.
  var isClosedByClient: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard TreeRingPlatform.poll(&poll, 1, 0) == 1 else { return false }
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) <= 0
  }

  /// Closes it for both sides.
  func end() { Platform.shut(descriptor) }
}

/// A socket that accepts connections on the loopback interface.
final class FakeSocket: Sendable {
  let port: UInt16
  private let descriptor: Int32

  init() {
    descriptor = socket(AF_INET, Platform.streamSocket, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        let bound = bind(descriptor, address, length)
        return bound == 0 ? getsockname(descriptor, address, &length) : bound
      }
    }
    precondition(result == 0 && listen(descriptor, 64) == 0, "no socket")
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { _ = TreeRingPlatform.close(descriptor) }

  /// The next connection; nil once the socket has ended.
  func accept() -> FakeConnection? {
    let client = TreeRingPlatform.accept(descriptor, nil, nil)
    return client < 0 ? nil : FakeConnection(client)
  }

  func end() { Platform.shut(descriptor) }
}
