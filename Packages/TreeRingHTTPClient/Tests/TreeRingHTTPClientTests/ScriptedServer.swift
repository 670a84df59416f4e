// A server over TLS that answers each request as a test says, byte by byte.

import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on the loopback interface.
final class ScriptedServer: Sendable {
  /// Answers the request of a number, from 0, on the event loop of its connection.
  typealias Script = @Sendable (_ number: Int, _ connection: any Channel) -> Void

  /// The requests and the open connections so far.
  private final class Counts: Sendable {
    let requests = Mutex<[String]>([])
    let connections = Mutex(0)
  }

  private let counts = Counts()
  private let listener: any Channel

  /// The heads of the requests so far.
  var requests: [String] { counts.requests.withLock(\.self) }
  /// The connections that are open.
  var connectionCount: Int { counts.connections.withLock(\.self) }

  init(_ certificate: Certificate, _ script: @escaping Script) async throws {
    let context = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate.file)
          .map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: certificate.key, format: .pem))))
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [counts] channel in
        channel.eventLoop.makeCompletedFuture {
          let handler = RequestHandler { head in
            let number = counts.requests.withLock { requests in
              requests.append(head)
              return requests.count - 1
            }
            script(number, channel)
          }
          counts.connections.withLock { $0 += 1 }
          channel.closeFuture.whenComplete { _ in counts.connections.withLock { $0 -= 1 } }
          try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: context), handler,
          ])
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  /// The address of a path.
  func url(_ path: String) throws -> URL {
    let port = listener.localAddress?.port ?? 0
    guard let url = URL(string: "https://localhost:\(port)/\(path)") else {
      throw CocoaError(.formatting)
    }
    return url
  }

  /// Accepts no more connections.
  func stop() async { try? await listener.close() }
}

/// Collects the heads of requests without a body.
private final class RequestHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var text = ""
  private let receive: (String) -> Void

  init(_ receive: @escaping (String) -> Void) { self.receive = receive }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    text += String(buffer: unwrapInboundIn(data))
    // A line break is one character.
    while let end = text.range(of: "\r\n\r\n") {
      let head = String(text[..<end.lowerBound])
      text.removeSubrange(..<end.upperBound)
      receive(head)
    }
  }

  // Some clients go without TLS's farewell.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

extension Channel {
  /// Sends text, and then closes the connection if it is the last.
  func send(_ text: some StringProtocol, closes: Bool = false) {
    let sent = writeAndFlush(ByteBuffer(string: String(text)))
    if closes { sent.whenComplete { _ in self.close(promise: nil) } }
  }
}
