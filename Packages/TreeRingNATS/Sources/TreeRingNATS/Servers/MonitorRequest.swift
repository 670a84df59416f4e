// A request to the address at which a server shows its state. It goes without Foundation's session,
// which on Linux ends the process if a server dies within the head of its answer.

internal import Foundation

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A request over plain HTTP, for a short answer.
enum MonitorRequest {
  /// The reason for which there is no answer.
  struct Failure: Error {
    var reason: String
  }

  /// The body of the answer. Blocks for little longer than the limit, apart from the look-up of a
  /// name.
  static func body(of address: String, within limit: Duration) throws(Failure) -> [UInt8] {
    guard let url = URLComponents(string: address), url.scheme == "http", let host = url.host
    else { throw Failure(reason: "it is no address such as http://a.example:8222") }
    let deadline = ContinuousClock.now + limit
    let descriptor = try connect(to: host, port: url.port ?? 80, limit)
    defer { close(descriptor) }
    // A server ends the connection after an answer of this version, which is never in chunks.
    let path = (url.path.isEmpty ? "/" : url.path) + (url.query.map { "?\($0)" } ?? "")
    let head = "GET \(path) HTTP/1.0\r\nHost: \(host)\r\n\r\n"
    let bytes = [UInt8](head.utf8)
    guard send(descriptor, bytes, bytes.count, noSignal) == bytes.count else {
      throw Failure(reason: reason)
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 { throw Failure(reason: reason) }
      if count == 0 { break }
      answer += buffer[..<count]
      guard answer.count < 1 << 22, ContinuousClock.now < deadline else {
        throw Failure(reason: "the answer is too long")
      }
    }
    let end = answer.firstRange(of: [13, 10, 13, 10])
    let status = String(decoding: answer.prefix(12), as: UTF8.self)
    guard let end, status.hasPrefix("HTTP/1"), status.hasSuffix(" 200") else {
      throw Failure(reason: "the answer is \(status.isEmpty ? "empty" : status)")
    }
    return [UInt8](answer[end.upperBound...])
  }

  private static var reason: String {
    [EAGAIN, EINPROGRESS].contains(errno) ? "no answer in time" : String(cString: strerror(errno))
  }

  #if canImport(Darwin)
    private static let noSignal: Int32 = 0
    private static let stream = SOCK_STREAM
  #else
    private static let noSignal = Int32(MSG_NOSIGNAL)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #endif

  private static func connect(
    to host: String, port: Int, _ limit: Duration
  ) throws(Failure) -> Int32 {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = stream
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &list)
    guard status == 0 else { throw Failure(reason: String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(list) }
    var failure = Failure(reason: "no address")
    var next = list
    while let address = next?.pointee {
      next = address.ai_next
      let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
      if descriptor < 0 {
        failure = Failure(reason: reason)
        continue
      }
      var time = timeval()
      time.tv_sec = numericCast(limit.components.seconds)
      time.tv_usec = numericCast(limit.components.attoseconds / 1_000_000_000_000)
      let size = socklen_t(MemoryLayout<timeval>.size)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
      #if canImport(Darwin)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
        let result = Darwin.connect(descriptor, address.ai_addr, address.ai_addrlen)
      #else
        let result = Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen)
      #endif
      if result == 0 { return descriptor }
      failure = Failure(reason: reason)
      close(descriptor)
    }
    throw failure
  }
}
