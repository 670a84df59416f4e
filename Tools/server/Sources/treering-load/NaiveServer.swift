// A server as one would write it first: after each commit it reads every window again, compares the
// rows with those that it sent last, and sends those that differ, and the order of the keys if it
// is another one. It has the same network stack as TreeRing's server, one snapshot for all windows
// of a commit, and as many threads as processors. It knows only what the measurement needs: windows
// of one group, over WebSockets.

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import TreeRing

/// A running server.
final class NaiveServer: Sendable {
  private let store: Store
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
  private let pool = NIOThreadPool(numberOfThreads: System.coreCount)
  private let windows = NIOLockedValueBox<[ObjectIdentifier: NaiveWindow]>([:])
  private let listener = NIOLockedValueBox<(any Channel)?>(nil)

  init(_ store: Store) { self.store = store }

  /// Listens at a free port, and returns it.
  func start() async throws -> Int {
    pool.start()
    let channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try self.configure(channel) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    listener.withLockedValue { $0 = channel }
    return channel.localAddress?.port ?? 0
  }

  private func configure(_ channel: any Channel) throws {
    let upgrader = NIOWebSocketServerUpgrader(
      shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
      upgradePipelineHandler: { channel, _ in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(NaiveHandler(self))
        }
      })
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
      withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
  }

  fileprivate func open(_ groupName: GroupName, _ channel: any Channel) {
    let window = NaiveWindow(groupName, channel)
    windows.withLockedValue { $0[ObjectIdentifier(channel)] = window }
    channel.closeFuture.whenComplete { _ in
      self.windows.withLockedValue { $0[ObjectIdentifier(channel)] = nil }
    }
    pool.submit { _ in
      guard let snapshot = try? self.store.snapshot() else { return }
      try? window.update(to: snapshot)
    }
  }

  /// Updates all windows after each commit, until the task is cancelled.
  func run() async throws {
    var seen: UInt64 = 0
    while !Task.isCancelled {
      try await store.reached(seen + 1)
      let snapshot = try store.snapshot()
      seen = snapshot.commit
      let open = windows.withLockedValue { Array($0.values) }
      let partCount = System.coreCount
      await withTaskGroup(of: Void.self) { tasks in
        for part in 0..<partCount {
          tasks.addTask { [pool] in
            try? await pool.runIfActive {
              for index in stride(from: part, to: open.count, by: partCount) {
                try open[index].update(to: snapshot)
              }
            }
          }
        }
      }
    }
  }

  func stop() async throws {
    try? await listener.withLockedValue { $0 }?.close()
    try await pool.shutdownGracefully()
    try await group.shutdownGracefully()
  }
}

/// A window: the rows that its client shows.
private final class NaiveWindow: Sendable {
  private struct Shown {
    var rows: [Key: String] = [:]
    var order: [Key] = []
    var commit: UInt64?
  }

  private let group: GroupName
  private let channel: any Channel
  private let shown = NIOLockedValueBox(Shown())

  init(_ group: GroupName, _ channel: any Channel) {
    self.group = group
    self.channel = channel
  }

  /// Reads the rows, and sends those that differ.
  func update(to snapshot: Snapshot) throws {
    guard channel.isWritable else { return }
    let message = try shown.withLockedValue { shown -> String? in
      if let commit = shown.commit, commit >= snapshot.commit { return nil }
      var (rows, order, changes): ([Key: String], [Key], [String]) = ([:], [], [])
      try snapshot.index("board").forEachRow(in: group) { _, row in
        let text = String(decoding: row.object, as: UTF8.self)
        let key = Key(bytes: row.key.bytes)
        if shown.rows[key] != text { changes.append("[\"\(key)\",\(text)]") }
        rows[key] = text
        order.append(key)
        return true
      }
      let isMoved = order != shown.order
      let isFirst = shown.commit == nil
      let from = shown.commit.map { "\"from\":\($0)," } ?? ""
      shown = Shown(rows: rows, order: order, commit: snapshot.commit)
      if changes.isEmpty, !isMoved, !isFirst { return nil }
      let keys = isMoved ? order.map { "\"\($0)\"" }.joined(separator: ",") : ""
      return "{\"id\":1,\(from)\"commit\":\(snapshot.commit),\"at\":\""
        + LoadDate.text(snapshot.timestamp) + "\",\"rows\":["
        + changes.joined(separator: ",") + "],\"order\":[\(keys)]}"
    }
    guard let message else { return }
    let frame = WebSocketFrame(
      fin: true, opcode: .text, data: channel.allocator.buffer(string: message))
    channel.writeAndFlush(frame, promise: nil)
  }
}

/// Reads the message that opens a window.
private final class NaiveHandler: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private struct Opening: Decodable { var groups: [String] }
  private let server: NaiveServer

  init(_ server: NaiveServer) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard frame.opcode == .text,
      let opening = try? JSONDecoder().decode(
        Opening.self, from: Data(frame.unmaskedData.readableBytesView)),
      let group = opening.groups.first
    else { return }
    server.open(GroupName(group), context.channel)
  }
}
