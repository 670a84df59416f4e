// The parts of JetStream's messages about streams that the log uses.

/// A stream's configuration. A new stream gets this one; an existing one must have it.
struct StreamConfiguration: Codable, Sendable {
  var name = ""
  var subjects: [String]? = []
  var retention = "limits"
  var storage = "file"
  var discard = "new"
  var replicaCount = 3
  var maxConsumers = -1
  var maxMessages = -1
  var maxBytes = -1
  var maxAge = 0
  var maxMessageSize = -1
  var maxMessagesPerSubject = -1
  var duplicateWindow: Int? = 120_000_000_000
  var denyDelete: Bool? = true
  var denyPurge: Bool? = false
  var allowsRollup: Bool? = false
  var allowsDirect: Bool? = false
  var allowsBatches: Bool? = true
  var isSealed: Bool? = false
  // The rest is never set in a new stream.
  var doesNotAcknowledge: Bool?
  var allowsLifetimes: Bool?
  var persistence: String?
  var mirror: Ignored?
  var sources: [Ignored]?
  var transform: Ignored?

  /// Anything.
  struct Ignored: Codable, Sendable {
    init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {}
  }

  enum CodingKeys: String, CodingKey {
    case name, subjects, retention, storage, discard, mirror, sources
    case replicaCount = "num_replicas"
    case maxConsumers = "max_consumers"
    case maxMessages = "max_msgs"
    case maxBytes = "max_bytes"
    case maxAge = "max_age"
    case maxMessageSize = "max_msg_size"
    case maxMessagesPerSubject = "max_msgs_per_subject"
    case duplicateWindow = "duplicate_window"
    case denyDelete = "deny_delete"
    case denyPurge = "deny_purge"
    case allowsRollup = "allow_rollup_hdrs"
    case allowsDirect = "allow_direct"
    case allowsBatches = "allow_atomic"
    case isSealed = "sealed"
    case doesNotAcknowledge = "no_ack"
    case allowsLifetimes = "allow_msg_ttl"
    case persistence = "persist_mode"
    case transform = "subject_transform"
  }

  /// The configuration of a new stream.
  init(_ options: JetStreamOptions) {
    name = options.stream
    subjects = [options.stream]
    replicaCount = options.replicaCount
    maxBytes = options.logByteLimit ?? -1
  }

  /// The properties that a log cannot have, each with the one that it needs.
  func problems(_ options: JetStreamOptions) -> [String] {
    var problems: [String] = []
    func expect(_ isFulfilled: Bool, _ problem: String) {
      if !isFulfilled { problems.append(problem) }
    }
    expect(subjects == [options.stream], "its only subject must be \(options.stream)")
    expect(retention == "limits", "retention must be limits")
    expect(storage == "file", "storage must be file")
    expect(discard == "new", "discard must be new")
    expect(
      replicaCount >= options.replicaCount,
      "num_replicas is \(replicaCount), and must be \(options.replicaCount)")
    expect(maxMessages <= 0, "max_msgs must be unlimited")
    expect(maxMessagesPerSubject <= 0, "max_msgs_per_subject must be unlimited")
    expect(maxAge == 0, "max_age must be unlimited")
    expect(
      maxMessageSize <= 0 || maxMessageSize >= options.entryByteLimit + Self.headerByteLimit,
      "max_msg_size must be unlimited")
    expect(denyDelete == true, "deny_delete must be on")
    expect(denyPurge != true, "deny_purge must be off")
    expect(allowsRollup != true, "allow_rollup_hdrs must be off")
    expect(allowsDirect != true, "allow_direct must be off")
    expect(allowsBatches == true, "allow_atomic must be on")
    expect(isSealed != true, "it is sealed")
    expect(doesNotAcknowledge != true, "no_ack must be off")
    expect(allowsLifetimes != true, "allow_msg_ttl must be off")
    expect(["", "default"].contains(persistence ?? ""), "persist_mode must be default")
    expect(mirror == nil && (sources ?? []).isEmpty, "it must have no mirror and no sources")
    expect(transform == nil, "subject_transform must be off")
    return problems
  }

  /// The bytes that a message may have beside its entry.
  static let headerByteLimit = 1024
}

/// The state of a stream as its leader knows it.
struct StreamInfo: Decodable, Sendable {
  struct State: Decodable, Sendable {
    var messages: UInt64
    var first: UInt64
    var last: UInt64

    enum CodingKeys: String, CodingKey {
      case messages
      case first = "first_seq"
      case last = "last_seq"
    }
  }

  struct Replica: Decodable, Sendable {
    var name: String
    var isCurrent: Bool?
    /// The nanoseconds since the leader heard of it; 0 also if it never did.
    var silence: Int64?

    enum CodingKeys: String, CodingKey {
      case name
      case isCurrent = "current"
      case silence = "active"
    }

    /// Whether the leader heard of it so lately that it can hardly have another leader: an election
    /// begins after four seconds of silence at the earliest.
    var isNear: Bool {
      guard let silence, silence > 0 else { return isCurrent == true }
      return silence < 2_500_000_000
    }
  }

  struct Cluster: Decodable, Sendable {
    var leader: String?
    var replicas: [Replica]?
  }

  var config: StreamConfiguration
  /// The moment of its creation, which tells it from another of the same name.
  var created: String
  var state: State
  var cluster: Cluster?

  /// The number of the oldest entry, and that after the newest one if there is none.
  var first: UInt64 { state.messages == 0 ? state.last + 1 : state.first }

  /// The names of the servers that have it.
  var servers: [String] {
    (cluster?.leader).map { [$0] + (cluster?.replicas ?? []).map(\.name) } ?? []
  }

  /// Whether the answer is that of a leader with a majority. Without this check, one that was
  /// frozen would answer before it learns of the next leader.
  var hasMajority: Bool {
    let replicas = cluster?.replicas ?? []
    return (replicas.filter(\.isNear).count + 1) * 2 > replicas.count + 1
  }
}

/// The configuration of a consumer that sends entries to a subject as they come, in order and once.
struct ConsumerConfiguration: Encodable, Sendable {
  var subject: String
  var first: UInt64
  var start = "by_start_sequence"
  var acknowledgement = "none"
  var deliveryCount = 1
  var controlsFlow = true
  /// Nanoseconds between messages if there are no entries.
  var heartbeat = 500_000_000
  /// Nanoseconds after which the server forgets a consumer without a reader.
  var lifetime = 5_000_000_000
  var replicaCount = 1
  var isInMemory = true

  enum CodingKeys: String, CodingKey {
    case subject = "deliver_subject"
    case first = "opt_start_seq"
    case start = "deliver_policy"
    case acknowledgement = "ack_policy"
    case deliveryCount = "max_deliver"
    case controlsFlow = "flow_control"
    case heartbeat = "idle_heartbeat"
    case lifetime = "inactive_threshold"
    case replicaCount = "num_replicas"
    case isInMemory = "mem_storage"
  }
}
