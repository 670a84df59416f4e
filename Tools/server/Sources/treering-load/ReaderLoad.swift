// Many readers of one server, from another process.

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

enum ReaderLoad {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Reads windows of one group each, and prints how late their changes come.
  static func read(_ url: String, windows: Int, seconds: Int) async throws {
    let target = try Target(url)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let delays = NIOLockedValueBox<[Double]>([])
    for number in 0..<windows {
      _ = try await connect(target, group) { message in
        guard let at = date(of: message) else { return }
        let delay = (Date().timeIntervalSince1970 - at) * 1000
        delays.withLockedValue { $0.append(delay) }
      } open: {
        "{\"open\":1,\"index\":\"board\",\"groups\":[\"g\(number % 100)\"]}"
      }
    }
    print("\(windows) windows are open")
    try await Task.sleep(for: .seconds(seconds))
    let values = delays.withLockedValue { $0 }
    print("from the commit's date to the message at the reader: \(Quantiles(values).text)")
    try await group.shutdownGracefully()
  }

  /// Connects readers that stay idle, and prints the memory of the server for each.
  static func idle(_ url: String, readers: Int, process: String) async throws {
    let target = try Target(url)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let before = try residentKilobytes(process)
    var channels: [any Channel] = []
    for number in 0..<readers {
      channels.append(
        try await connect(target, group) { _ in
        } open: {
          "{\"open\":1,\"index\":\"board\",\"groups\":[\"g\(number % 100)\"]}"
        })
    }
    try await Task.sleep(for: .seconds(3))
    let after = try residentKilobytes(process)
    print(
      "\(readers) idle readers: \(before) kB before, \(after) kB after, "
        + String(format: "%.1f kB each", Double(after - before) / Double(readers)))
    for channel in channels { channel.close(promise: nil) }
    try await Task.sleep(for: .seconds(2))
    print("after they have gone: \(try residentKilobytes(process)) kB")
    try await group.shutdownGracefully()
  }

  private static func residentKilobytes(_ process: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let value = line?.split(whereSeparator: \.isWhitespace)[1], let number = Int(value) else {
      throw Failure(description: "there is no process \(process)")
    }
    return number
  }

  /// The seconds since 1970 of the date in a change, which begins with these members:
  /// `{"id":1,"from":A,"commit":B,"at":"DATE"`. Reads no further, so that one process can read for
  /// many.
  private static func date(of message: [UInt8]) -> Double? {
    guard message.starts(with: "{\"id\":1,\"from\":".utf8) else { return nil }
    let members = message.prefix(120).split(separator: UInt8(ascii: "\""))
    guard let name = members.firstIndex(where: { $0.elementsEqual("at".utf8) }),
      name + 2 < members.endIndex
    else { return nil }
    let text = String(decoding: members[name + 2], as: UTF8.self)
    let parts = text.utf8.split { !(0x30...0x39).contains($0) && $0 != 0x2E }
      .compactMap { Double(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 6 else { return nil }
    var calendar = tm()
    calendar.tm_year = Int32(parts[0]) - 1900
    calendar.tm_mon = Int32(parts[1]) - 1
    calendar.tm_mday = Int32(parts[2])
    return Double(timegm(&calendar)) + parts[3] * 3600 + parts[4] * 60 + parts[5]
  }

  /// The address and the token in a URL that the server has printed.
  private struct Target {
    var port: Int
    var token: String

    init(_ url: String) throws {
      let parts = url.split(separator: "#token=")
      guard parts.count == 2, let port = URL(string: String(parts[0]))?.port else {
        throw Failure(description: "give the URL that the server has printed")
      }
      self.port = port
      token = String(parts[1])
    }
  }

  private static func connect(
    _ target: Target, _ group: MultiThreadedEventLoopGroup,
    _ body: @escaping @Sendable ([UInt8]) -> Void, open: () -> String
  ) async throws -> any Channel {
    let request =
      "GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1:\(target.port)\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      + "Sec-WebSocket-Protocol: treering.v1, token.\(target.token)\r\n\r\n"
    let ready = group.next().makePromise(of: Void.self)
    let channel = try await ClientBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ReaderHandler(ready, body))
        }
      }
      .connect(host: "127.0.0.1", port: target.port).get()
    try await channel.writeAndFlush(ByteBuffer(bytes: Array(request.utf8) + frame(open())))
    try await ready.futureResult.get()
    return channel
  }

  /// A masked frame with a zero mask.
  private static func frame(_ text: String) -> [UInt8] {
    let payload = Array(text.utf8)
    return [0x81, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload
  }
}

/// Reads the server's frames.
private final class ReaderHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var buffer = ByteBuffer()
  private var hasHead = false
  private var isReady = false
  private let ready: EventLoopPromise<Void>
  private let body: @Sendable ([UInt8]) -> Void

  init(_ ready: EventLoopPromise<Void>, _ body: @escaping @Sendable ([UInt8]) -> Void) {
    self.ready = ready
    self.body = body
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    buffer.writeBuffer(&part)
    if !hasHead {
      guard let end = buffer.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else {
        return
      }
      buffer.moveReaderIndex(to: end.upperBound)
      hasHead = true
    }
    while let (opcode, payload) = frame() {
      if opcode == 9 {
        context.writeAndFlush(
          wrapOutboundOut(ByteBuffer(bytes: [0x8A, 0x80, 0, 0, 0, 0])), promise: nil)
      }
      guard opcode == 1 else { continue }
      body(payload)
      if !isReady { ready.succeed() }
      isReady = true
    }
    buffer.discardReadBytes()
  }

  func channelInactive(context: ChannelHandlerContext) {
    if !isReady { ready.fail(ReaderLoad.Failure(description: "the server closed a connection")) }
    isReady = true
  }

  private func frame() -> (UInt8, [UInt8])? {
    let start = buffer.readerIndex
    guard let first = buffer.readInteger(as: UInt8.self),
      let second = buffer.readInteger(as: UInt8.self)
    else {
      buffer.moveReaderIndex(to: start)
      return nil
    }
    var count: Int? = Int(second & 0x7F)
    if count == 126 { count = buffer.readInteger(as: UInt16.self).map(Int.init) }
    if count == 127 { count = buffer.readInteger(as: UInt64.self).map { Int(clamping: $0) } }
    guard let count, let bytes = buffer.readBytes(length: count) else {
      buffer.moveReaderIndex(to: start)
      return nil
    }
    return (first & 0x0F, bytes)
  }
}
