// The writes that a session makes when it ends, in the order in which the client asked for them.

internal import TreeRingFirebase
internal import TreeRingLive

/// The writes of the end of a session.
struct DisconnectWrites {
  /// A write that was asked for: of one node, or of several at once.
  struct Entry {
    let base: [FirebaseKey]?
    var writes: [PendingWrite]
    let byteCount: Int
    /// The credential at the time of the request. It must still be valid at the end.
    let credential: String?
    let override: JSONValue?
  }

  private(set) var entries: [Entry] = []
  private let byteLimit: Int
  static let countLimit = 1_000

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// Adds a write, which replaces those of the same locations and below.
  mutating func add(_ entry: Entry) throws {
    var changed = self
    for write in entry.writes { changed.remove(at: write.path) }
    let byteCount = changed.entries.reduce(entry.byteCount) { $0 + $1.byteCount }
    guard changed.entries.count < Self.countLimit, byteCount <= byteLimit else {
      throw RealtimeError.writeTooLarge
    }
    changed.entries.append(entry)
    self = changed
  }

  /// Removes the writes of a location and everything below it.
  mutating func remove(at path: FirebasePath) {
    for index in entries.indices {
      entries[index].writes.removeAll { write in
        path.part == .node ? write.path.keys.starts(with: path.keys) : write.path == path
      }
    }
    entries.removeAll { $0.writes.isEmpty }
  }
}
