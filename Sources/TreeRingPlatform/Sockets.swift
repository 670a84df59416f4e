// Sockets of TCP. Reads and writes block; `shut` from another thread ends them.

extension Platform {
  /// The type of a socket that carries a stream.
  package static var streamSocket: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      SOCK_STREAM
    #endif
  }

  /// Opens a connection to a host. Blocks for the look-up of the name, and for at most `timeout`
  /// for each address of the host.
  ///
  /// - Parameters:
  ///   - host: A name or an address.
  ///   - timeout: The limit of this, of every read and of every write.
  ///   - hold: Receives the descriptor before it connects; the caller keeps it for `shut`.
  /// - Returns: The descriptor, or the reason why there is none.
  package static func connect(
    to host: String, port: UInt16, timeout: Duration, hold: (Int32) -> Void
  ) -> Result<Int32, SocketFailure> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = streamSocket
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &list)
    guard status == 0 else {
      return .failure(SocketFailure(reason: String(cString: gai_strerror(status))))
    }
    defer { freeaddrinfo(list) }
    var failure = SocketFailure(reason: "no address")
    var next = list
    while let address = next?.pointee {
      next = address.ai_next
      let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
      if descriptor < 0 {
        failure = .last
        continue
      }
      limit(descriptor, to: timeout)
      hold(descriptor)
      if TreeRingPlatform.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
        return .success(descriptor)
      }
      failure = .last
      hold(-1)
      _ = TreeRingPlatform.close(descriptor)
    }
    return .failure(failure)
  }

  private static func limit(_ descriptor: Int32, to timeout: Duration) {
    let (seconds, attoseconds) = timeout.components
    var time = timeval()
    time.tv_sec = numericCast(min(seconds, 1 << 30))
    time.tv_usec = numericCast(attoseconds / 1_000_000_000_000)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    #if canImport(Darwin)
      var one: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Writes all bytes; returns the reason if that fails. A closed connection raises no signal.
  package static func send(_ descriptor: Int32, _ bytes: [UInt8]) -> SocketFailure? {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        let sent = TreeRingPlatform.send(descriptor, rest.baseAddress, rest.count, flags)
        if sent < 0, errno == EINTR { continue }
        if sent <= 0 { return .last }
        start += sent
      }
      return nil
    }
  }

  /// Reads the next bytes, at most `limit` of them; empty at the end of the stream.
  package static func receive(
    _ descriptor: Int32, limit: Int = 1 << 16
  ) -> Result<[UInt8], SocketFailure> {
    while true {
      var count = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
        count = recv(descriptor, buffer.baseAddress, limit, 0)
        initialized = max(count, 0)
      }
      if count >= 0 { return .success(bytes) }
      if errno != EINTR { return .failure(.last) }
    }
  }

  /// Ends all reads and writes of a connection, of any thread.
  package static func shut(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// The reason for which a socket failed.
package struct SocketFailure: Error {
  /// The reason in words.
  package let reason: String

  init(reason: String) { self.reason = reason }

  /// The reason of this thread's last call.
  static var last: SocketFailure {
    let number = errno
    let isTimeout = number == EAGAIN || number == EWOULDBLOCK || number == EINPROGRESS
    return SocketFailure(
      reason: isTimeout ? "no answer in time" : String(cString: strerror(number)))
  }
}
