// Clients that send garbage, and clients that ask without reading the answers.

import Foundation
import NIOCore
import NIOPosix

/// Hostile clients of one server. Used on one event loop.
final class HostileClients: @unchecked Sendable {
  private let address: LoadAddress
  private let loop: any EventLoop
  private var random = SystemRandomNumberGenerator()
  private var task: RepeatedTask?
  private(set) var garbageCount = 0
  private var isOver = false
  static let floodCount = 20

  init(_ address: LoadAddress, on loop: any EventLoop) {
    self.address = address
    self.loop = loop
  }

  func start() {
    task = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { _ in
      self.sendGarbage()
    }
    for _ in 0..<Self.floodCount { flood() }
  }

  func stop() {
    task?.cancel()
    isOver = true
  }

  private func bytes(_ count: ClosedRange<Int>) -> [UInt8] {
    (0..<Int.random(in: count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
    }
  }

  /// One client that sends something else each time, and leaves.
  private func sendGarbage() {
    garbageCount += 1
    switch garbageCount % 5 {
    case 0: plain(bytes(1...2000))
    case 1: plain(Array("GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1:\(address.port)\r\nX: ".utf8))
    case 2: webSocket(bytes(1...2000))
    case 3:
      // A frame that promises 2^62 bytes.
      webSocket([0x81, 0xFF, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4] + bytes(1...100))
    default:
      let names = ["open", "id", "seek", "grow", "ranges", "close", "ping", "live"]
      let values = [
        "null", "[]", "{}", "1e99", "\"\\ud800\"", "-1", "[[[[[[[[1]]]]]]]]", "\"board\"",
      ]
      let members = (0..<4).map { _ in
        "\"\(names[Int.random(in: 0..<8, using: &random)])\":"
          + values[Int.random(in: 0..<8, using: &random)]
      }
      webSocket(LoadConnection.frame(Array("{\(members.joined(separator: ","))}".utf8)))
    }
  }

  private func plain(_ bytes: [UInt8]) {
    ClientBootstrap(group: loop).connect(host: "127.0.0.1", port: address.port)
      .whenSuccess { channel in
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        // Some leave at once, some keep the server waiting.
        channel.eventLoop.scheduleTask(in: .milliseconds(Int64.random(in: 0...3000))) {
          channel.close(promise: nil)
        }
      }
  }

  private func webSocket(_ bytes: [UInt8]) {
    LoadConnection.open(address, on: loop, first: []) {
      LoadConnection.Events { channel in
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        channel.eventLoop.scheduleTask(in: .milliseconds(Int64.random(in: 0...500))) {
          channel.close(promise: nil)
        }
      } message: { _ in
      }
    }.whenFailure { _ in }
  }

  /// A client that sends questions as fast as the server takes them, and reads no answer.
  private func flood() {
    let question = LoadConnection.frame(
      Array("{\"ping\":\"\(String(repeating: "x", count: 60_000))\"}".utf8))
    LoadConnection.open(address, on: loop, receiveBuffer: 4096, first: []) {
      LoadConnection.Events { channel in
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        self.send(question, to: channel)
      } message: { _ in
      }
    }.whenFailure { _ in self.floodAgain() }
  }

  private func send(_ question: [UInt8], to channel: any Channel) {
    guard !isOver else { return channel.close(promise: nil) }
    channel.writeAndFlush(ByteBuffer(bytes: question)).whenComplete { result in
      switch result {
      case .success: self.send(question, to: channel)
      case .failure: self.floodAgain()
      }
    }
  }

  private func floodAgain() {
    guard !isOver else { return }
    loop.scheduleTask(in: .milliseconds(500)) { if !self.isOver { self.flood() } }
  }
}
