// A connection to a server under test, byte by byte, and the little of HTTP and WebSocket that
// tests need.

import Foundation

/// A blocking TCP connection.
final class TestConnection {
  struct Failure: Error {
    var sentence: String
  }

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ port: Int, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
    }
    var timeout = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, 16)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(sentence: "connect: \(errno)") }
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) throws {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        Foundation.send(
          descriptor, $0.baseAddress.map { $0 + offset }, bytes.count - offset,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(sentence: "send: \(errno)") }
      offset += count
    }
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// The next bytes, those that came with an earlier part first; empty at the end of the
  /// connection.
  func receive() throws -> [UInt8] {
    if buffer.isEmpty { return try read() }
    defer { buffer = [] }
    return buffer
  }

  private func read() throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    if count < 0, errno == EAGAIN { throw Failure(sentence: "nothing came in ten seconds") }
    return count > 0 ? Array(bytes.prefix(count)) : []
  }

  /// Whether the server ends the connection.
  func isEnded() throws -> Bool {
    while true {
      let bytes = try read()
      if bytes.isEmpty { return true }
      buffer += bytes
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count {
      let bytes = try read()
      if bytes.isEmpty { throw Failure(sentence: "the connection ended") }
      buffer += bytes
    }
    defer { buffer.removeFirst(count) }
    return Array(buffer.prefix(count))
  }

  /// The bytes through a blank line.
  func head() throws -> String {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try take(1) }
    return String(decoding: head, as: UTF8.self)
  }

  // MARK: - HTTP

  /// Sends a request and returns the status, the head and the body of the answer.
  func ask(
    _ target: String, method: String = "GET", token: String? = nil, host: String? = nil,
    headers: [String] = [], body: String = "", port: Int
  ) throws -> (status: Int, head: String, body: String) {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    try send((lines + headers).joined(separator: "\r\n") + "\r\n\r\n" + body)
    let head = try head()
    let words = head.split(separator: " ")
    guard words.count > 1, let status = Int(words[1]) else { throw Failure(sentence: head) }
    let length = head.split(separator: "\r\n").first {
      $0.lowercased().hasPrefix("content-length:")
    }
    .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
    let content = try take(method == "HEAD" ? 0 : length ?? 0)
    return (status, head, String(decoding: content, as: UTF8.self))
  }

  // MARK: - WebSocket

  /// Sends the request for a WebSocket and returns the head of the answer.
  func upgrade(
    _ target: String = "/v1/live", token: String?, port: Int, headers: [String] = []
  ) throws -> String {
    try sendUpgrade(target, token: token, port: port, headers: headers)
    return try head()
  }

  /// Sends the request for a WebSocket.
  func sendUpgrade(
    _ target: String = "/v1/live", token: String?, port: Int, headers: [String] = []
  ) throws {
    var lines = [
      "GET \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Upgrade: websocket",
      "Connection: Upgrade", "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    if let token { lines.append("Sec-WebSocket-Protocol: treering.v1, token.\(token)") }
    try send((lines + headers).joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// All bytes to the end of the connection. A reset ends it too.
  func rest() throws -> [UInt8] {
    _ = try isEnded()
    defer { buffer = [] }
    return buffer
  }

  /// Sends a masked frame.
  func sendFrame(_ payload: [UInt8], opcode: UInt8 = 1, isLast: Bool = true) throws {
    var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    case ..<65_536:
      frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
      frame.append(0x80 | 127)
      for shift in stride(from: 56, through: 0, by: -8) {
        frame.append(UInt8(payload.count >> shift & 0xFF))
      }
    }
    let mask: [UInt8] = [1, 2, 3, 4]
    try send(frame + mask + payload.enumerated().map { $0.element ^ mask[$0.offset % 4] })
  }

  func sendText(_ text: String) throws { try sendFrame(Array(text.utf8)) }

  /// The next frame of the server.
  func frame() throws -> (opcode: UInt8, payload: [UInt8]) {
    let head = try take(2)
    var count = Int(head[1] & 0x7F)
    if count == 126 { count = try take(2).reduce(0) { $0 << 8 | Int($1) } }
    if count == 127 { count = try take(8).reduce(0) { $0 << 8 | Int($1) } }
    return (head[0] & 0x0F, try take(count))
  }

  /// The next message, as JSON.
  func message() throws -> [String: Any] {
    while true {
      let (opcode, payload) = try frame()
      if opcode == 8 { throw Failure(sentence: "closed: \(payload)") }
      guard opcode == 1 else { continue }
      let value = try JSONSerialization.jsonObject(with: Data(payload))
      return value as? [String: Any] ?? [:]
    }
  }
}
