// The replicas of shards that a machine has open.
//
// Whoever moves a shard here uses its replica before the table places it here. So a replica in use
// is not given up, whatever the table says at that moment.

internal import TreeRing
internal import TreeRingPlatform

/// Opens and closes replicas by shard, one at a time. Lookups do not wait for that.
final class ShardReplicas: Sendable {
  private struct State: Sendable {
    var isClosed = false
    /// The number of calls that use the replica of a shard now.
    var users: [String: Int] = [:]
  }

  private let openReplicas = Mutex<[String: Replica]>([:])
  /// Held while a replica is opened or closed, so that none is opened before it is closed.
  private let state = Monitor(State())
  private let make: @Sendable (_ name: String) throws -> Replica

  /// - Parameter make: Opens the replica of a shard.
  init(_ make: @escaping @Sendable (_ name: String) throws -> Replica) { self.make = make }

  /// The open replicas by shard.
  var all: [String: Replica] { openReplicas.withLock { $0 } }

  subscript(name: String) -> Replica? { openReplicas.withLock { $0[name] } }

  /// The replica of a shard, opened if it is not.
  func open(_ name: String) throws -> Replica {
    try state.withLock { state in
      if let replica = self[name] { return replica }
      if state.isClosed { throw TreeRingError.storeClosed }
      let replica = try make(name)
      openReplicas.withLock { $0[name] = replica }
      return replica
    }
  }

  /// Runs a closure with the replica of a shard, which stays open meanwhile.
  func use(_ name: String, _ body: (Replica) throws -> Void) throws {
    state.withLock { $0.users[name, default: 0] += 1 }
    defer {
      state.withLock { state in
        state.users[name]? -= 1
        if state.users[name] == 0 { state.users[name] = nil }
      }
    }
    try body(open(name))
  }

  /// Closes the replica of a shard, unless it is in use or not open.
  func giveUp(_ name: String) throws {
    try state.withLock { state in
      guard state.users[name] == nil else { return }
      try openReplicas.withLock { $0.removeValue(forKey: name) }?.close()
    }
  }

  /// Takes out all replicas for closing; no more are opened.
  func end() -> [Replica] {
    state.withLock { state in
      state.isClosed = true
      return openReplicas.withLock { replicas in
        defer { replicas = [:] }
        return Array(replicas.values)
      }
    }
  }
}
