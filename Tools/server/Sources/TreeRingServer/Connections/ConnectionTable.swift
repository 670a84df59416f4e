// The open connections: their number for each address, and all of them for the graceful end.

internal import NIOConcurrencyHelpers
internal import NIOCore

/// The event that asks the handlers of a connection to end it as soon as its answer is sent.
struct DrainEvent: Sendable {}

/// The event that asks the handlers of a connection to end it unless its token has the rights that
/// it began with.
struct TokensEvent: Sendable {}

/// The open connections of a server.
final class ConnectionTable: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var counts: [String: Int] = [:]
    var isDraining = false
  }

  private let limits: ServerLimits
  private let state = NIOLockedValueBox(State())

  init(_ limits: ServerLimits) { self.limits = limits }

  /// The number of connections.
  var count: Int { state.withLockedValue { $0.channels.count } }

  /// Takes a connection; false if there are too many, or the server is ending.
  func add(_ channel: any Channel) -> Bool {
    let address = channel.remoteAddress?.ipAddress ?? ""
    let isAdded = state.withLockedValue { state in
      guard !state.isDraining, state.channels.count < limits.connections,
        state.counts[address, default: 0] < limits.connectionsPerAddress
      else { return false }
      state.channels[ObjectIdentifier(channel)] = channel
      state.counts[address, default: 0] += 1
      return true
    }
    if isAdded {
      channel.closeFuture.whenComplete { _ in self.remove(channel, address) }
    }
    return isAdded
  }

  private func remove(_ channel: any Channel, _ address: String) {
    state.withLockedValue { state in
      state.channels[ObjectIdentifier(channel)] = nil
      state.counts[address, default: 1] -= 1
      if state.counts[address] == 0 { state.counts[address] = nil }
    }
  }

  /// Asks every connection to end, and takes no further one.
  func drain() {
    for channel in allDraining() {
      channel.pipeline.fireUserInboundEventTriggered(DrainEvent())
    }
  }

  /// Ends the connections whose tokens were withdrawn or have other rights now.
  func checkTokens() {
    for channel in state.withLockedValue({ Array($0.channels.values) }) {
      channel.pipeline.fireUserInboundEventTriggered(TokensEvent())
    }
  }

  /// Closes every connection at once.
  func closeAll() {
    for channel in allDraining() { channel.close(promise: nil) }
  }

  private func allDraining() -> [any Channel] {
    state.withLockedValue { state in
      state.isDraining = true
      return Array(state.channels.values)
    }
  }
}
