// A client's WebSocket, with callbacks on its event loop. It does the least that the protocol
// needs, so that one process can hold thousands.

import Foundation
import NIOCore
import NIOPosix

/// A failure of a measurement, as a sentence.
struct LoadFailure: Error, CustomStringConvertible {
  var description: String
}

/// The address of a server at this machine, and a token.
struct LoadAddress: Sendable {
  var port: Int
  var token: String

  init(port: Int, token: String) {
    self.port = port
    self.token = token
  }

  /// - Parameter url: The URL that a server prints.
  init(_ url: String) throws {
    let parts = url.split(separator: "#token=")
    guard parts.count == 2, let port = URL(string: String(parts[0]))?.port else {
      throw LoadFailure(description: "give the URL that the server has printed")
    }
    self.init(port: port, token: String(parts[1]))
  }
}

/// An open WebSocket.
enum LoadConnection {
  /// The events of a connection, on its event loop. After `closed` nothing follows.
  struct Events {
    var opened: (any Channel) -> Void = { _ in }
    var message: ([UInt8]) -> Void
    var closed: () -> Void = {}
  }

  /// Connects, and sends the first messages together with the request.
  ///
  /// - Parameter receiveBuffer: The bytes of the system's buffer; nil for the usual.
  static func open(
    _ address: LoadAddress, on loop: any EventLoop, receiveBuffer: Int? = nil, first: [String],
    _ events: @escaping @Sendable () -> Events
  ) -> EventLoopFuture<any Channel> {
    let request =
      "GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1:\(address.port)\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      + "Sec-WebSocket-Protocol: treering.v1, token.\(address.token)\r\n\r\n"
    var bootstrap = ClientBootstrap(group: loop)
    if let receiveBuffer {
      bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer)
    }
    return
      bootstrap
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(FrameReader(events()))
        }
      }
      .connect(host: "127.0.0.1", port: address.port)
      .flatMap { channel in
        let frames = first.flatMap { frame(Array($0.utf8)) }
        return channel.writeAndFlush(ByteBuffer(bytes: Array(request.utf8) + frames))
          .map { channel }
      }
  }

  /// A masked frame with a zero mask.
  static func frame(_ payload: [UInt8], opcode: UInt8 = 1) -> [UInt8] {
    var frame = [0x80 | opcode]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    case ..<65_536: frame += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
      frame.append(0xFF)
      for shift in stride(from: 56, through: 0, by: -8) {
        frame.append(UInt8(payload.count >> shift & 0xFF))
      }
    }
    return frame + [0, 0, 0, 0] + payload
  }
}

/// Reads the server's frames, and answers its pings.
private final class FrameReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let events: LoadConnection.Events
  private var buffer = ByteBuffer()
  private var hasHead = false

  init(_ events: LoadConnection.Events) { self.events = events }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var part = unwrapInboundIn(data)
    buffer.writeBuffer(&part)
    if !hasHead {
      guard let end = buffer.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else {
        return
      }
      guard buffer.readableBytesView.starts(with: "HTTP/1.1 101".utf8) else {
        return context.close(promise: nil)
      }
      buffer.moveReaderIndex(to: end.upperBound)
      hasHead = true
      events.opened(context.channel)
    }
    while let (opcode, payload) = frame() {
      switch opcode {
      case 1: events.message(payload)
      case 9:
        let pong = LoadConnection.frame([], opcode: 10)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: pong)), promise: nil)
      default: break
      }
    }
    buffer.discardReadBytes()
  }

  func channelInactive(context: ChannelHandlerContext) { events.closed() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
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
