// A connection of the client library, and the only owner of its object. Everything that is
// received is fetched by the thread that waits for it, so the library calls no code of this module.

internal import CNATS
internal import Foundation
internal import Synchronization
internal import TreeRingReplication

/// A connection to one of the servers at a time. The library changes to another when it loses one.
final class Connection: @unchecked Sendable {
  // The library's connection serves any thread. It lives until `deinit`; subscriptions keep this
  // object.
  private let pointer: OpaquePointer
  /// The subscriptions that have ended, and the moments of their ends.
  private let ended = Mutex<[(subscription: Ended, moment: ContinuousClock.Instant)]>([])

  private struct Ended: @unchecked Sendable {
    // The list alone has the pointer.
    let pointer: OpaquePointer
  }

  /// Connects to one of the servers. Blocks for a second per server at most.
  /// - Throws: `unavailable`; `refused` for credentials and certificates.
  init(_ options: JetStreamOptions) throws(SharedLogError) {
    var created: OpaquePointer?
    try Self.check(natsOptions_Create(&created), "options")
    defer { natsOptions_Destroy(created) }
    try Self.set(options, in: created)
    var connection: OpaquePointer?
    let status = natsConnection_Connect(&connection, created)
    guard status == NATS_OK, let connection else {
      let text = "\(options.urls.joined(separator: ", ")): \(status.details)"
      switch status {
      case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED:
        throw .refused("\(text). Check the credentials of the log's options.")
      case NATS_SSL_ERROR, NATS_SECURE_CONNECTION_WANTED, NATS_SECURE_CONNECTION_REQUIRED:
        throw .refused("\(text). Check the certificates of the log's options.")
      case NATS_INVALID_ARG, NATS_ADDRESS_MISSING:
        throw .refused("\(text). Check the addresses of the log's options.")
      default: throw .unavailable(text)
      }
    }
    pointer = connection
  }

  deinit {
    natsConnection_Close(pointer)
    for (subscription, _) in ended.withLock(\.self) {
      natsSubscription_Destroy(subscription.pointer)
    }
    natsConnection_Destroy(pointer)
  }

  private static func set(
    _ options: JetStreamOptions, in created: OpaquePointer?
  ) throws(SharedLogError) {
    let urls = options.urls.map { strdup($0) }
    defer { for url in urls { free(url) } }
    var pointers = urls.map { UnsafePointer($0) }
    try check(natsOptions_SetServers(created, &pointers, Int32(pointers.count)), "addresses")
    try check(natsOptions_SetName(created, "TreeRing \(options.stream)"), "name")
    // A client of a frozen server finds another one after a second and a half.
    try check(natsOptions_SetPingInterval(created, 500), "pings")
    try check(natsOptions_SetMaxPingsOut(created, 2), "pings")
    try check(natsOptions_SetTimeout(created, 1000), "timeout")
    try check(natsOptions_SetMaxReconnect(created, -1), "connections")
    try check(natsOptions_SetReconnectWait(created, 50), "connections")
    try check(natsOptions_SetReconnectJitter(created, 20, 100), "connections")
    // Without it, a write to a frozen server blocks the pings that would notice.
    try check(natsOptions_SetWriteDeadline(created, 2000), "deadline")
    // The library's own handler prints.
    try check(natsOptions_SetErrorHandler(created, { _, _, _, _ in }, nil), "handler")
    switch options.credentials {
    case .none: break
    case .password(let user, let password):
      try check(natsOptions_SetUserInfo(created, user, password), "credentials")
    case .token(let token): try check(natsOptions_SetToken(created, token), "credentials")
    case .file(let path):
      try check(natsOptions_SetUserCredentialsFromFiles(created, path, nil), "credentials")
    }
    if let file = options.authorityFile {
      try check(natsOptions_LoadCATrustedCertificates(created, file), "authorities")
    }
    if options.authorityFile != nil || options.urls.contains(where: { $0.hasPrefix("tls:") }) {
      try check(natsOptions_SetSecure(created, true), "security")
    }
    if let files = options.certificateFiles {
      try check(natsOptions_LoadCertificatesChain(created, files.chain, files.key), "certificate")
    }
  }

  private static func check(_ status: natsStatus, _ what: String) throws(SharedLogError) {
    if status != NATS_OK {
      throw .refused("The \(what) of the log's options: \(status.details)")
    }
  }

  // MARK: State

  /// Whether a server serves it at the moment.
  var isConnected: Bool { natsConnection_Status(pointer) == NATS_CONN_STATUS_CONNECTED }
  /// Whether the library gave it up, as it does when a server rejects its credentials twice.
  var isClosed: Bool { natsConnection_IsClosed(pointer) }
  /// The largest message of the server, payload and headers.
  var payloadLimit: Int { Int(natsConnection_GetMaxPayload(pointer)) }

  /// The reason for which a connection was lost or a message rejected, if there was one.
  var lastError: String? {
    var text: UnsafePointer<CChar>?
    let status = natsConnection_GetLastError(pointer, &text)
    guard status != NATS_OK else { return nil }
    let details = text.map { String(cString: $0) } ?? ""
    return details.isEmpty ? status.text : details
  }

  /// The number of times that the connection was lost and found again.
  var reconnectCount: UInt64 {
    var statistics: OpaquePointer?
    guard natsStatistics_Create(&statistics) == NATS_OK else { return 0 }
    defer { natsStatistics_Destroy(statistics) }
    var count: UInt64 = 0
    natsConnection_GetStats(pointer, statistics)
    natsStatistics_GetCounts(statistics, nil, nil, nil, nil, &count)
    return count
  }

  /// The reason for which the server does not let this client use a subject, if there was one.
  func prohibition(of subject: String) -> String? {
    guard let error = lastError, error.lowercased().contains("permissions violation"),
      error.contains("\"\(subject)\"")
    else { return nil }
    return "\(error). Grant the user of the log this right."
  }

  // MARK: Messages

  /// Writes a message into the connection's buffer; `flush` sends it.
  func publish(
    _ bytes: [UInt8], to subject: String, headers: [(String, String)] = [], reply: String? = nil
  ) throws(AttemptFailure) {
    let message = try Self.message(bytes, subject, headers, reply)
    defer { natsMsg_Destroy(message) }
    try check(natsConnection_PublishMsg(pointer, message))
  }

  /// Sends the connection's buffer. A server that does not answer is no failure.
  func flush(within limit: Duration) {
    _ = natsConnection_FlushTimeout(pointer, max(1, min(limit, .seconds(1)).milliseconds))
  }

  /// Sends a message and waits for the answer.
  func request(
    _ subject: String, _ bytes: [UInt8], headers: [(String, String)] = [], within limit: Duration
  ) throws(AttemptFailure) -> [UInt8] {
    let message = try Self.message(bytes, subject, headers, nil)
    defer { natsMsg_Destroy(message) }
    var answer: OpaquePointer?
    let status = natsConnection_RequestMsg(&answer, pointer, message, max(1, limit.milliseconds))
    defer { natsMsg_Destroy(answer) }
    if status == NATS_TIMEOUT, let prohibition = prohibition(of: subject) {
      throw .refused(prohibition)
    }
    try check(status)
    return answer.map { Message.bytes(of: $0) } ?? []
  }

  private static func message(
    _ bytes: [UInt8], _ subject: String, _ headers: [(String, String)], _ reply: String?
  ) throws(AttemptFailure) -> OpaquePointer? {
    var message: OpaquePointer?
    var status = bytes.withUnsafeBytes { bytes in
      natsMsg_Create(
        &message, subject, reply, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
        Int32(bytes.count))
    }
    for (name, value) in headers where status == NATS_OK {
      status = natsMsgHeader_Set(message, name, value)
    }
    if status == NATS_OK { return message }
    natsMsg_Destroy(message)
    throw .refused("A message could not be made: \(status.details)")
  }

  private func check(_ status: natsStatus) throws(AttemptFailure) {
    switch status {
    case NATS_OK: return
    case NATS_NO_RESPONDERS: throw .passing("the stream has no leader, or JetStream is off")
    case NATS_TIMEOUT: throw .passing("no answer")
    case NATS_MAX_PAYLOAD:
      throw .refused("\(status.details). Raise max_payload of the servers.")
    case NATS_NOT_PERMITTED: throw .refused(status.details)
    default: throw .passing(status.details)
    }
  }

  /// Subscribes to a subject.
  func subscribe(to subject: String) throws(AttemptFailure) -> Subscription {
    var subscription: OpaquePointer?
    try check(natsConnection_SubscribeSync(&subscription, pointer, subject))
    guard let subscription else { throw .passing("no subscription") }
    return Subscription(subscription, of: self)
  }

  /// Ends a subscription. In older versions of the library its own thread may use one that is freed
  /// while a message for it arrives, which aborts the process. So it is freed seconds later.
  func end(_ subscription: OpaquePointer) {
    natsSubscription_Unsubscribe(subscription)
    let now = ContinuousClock.now
    let old = ended.withLock { ended in
      let count = ended.prefix { now - $0.moment > .seconds(5) }.count
      let old = Array(ended[..<count])
      ended.removeFirst(count)
      ended.append((Ended(pointer: subscription), now))
      return old
    }
    for (subscription, _) in old { natsSubscription_Destroy(subscription.pointer) }
  }

  /// A subject for answers that no other client uses.
  static func uniqueSubject() throws(AttemptFailure) -> String {
    var inbox: UnsafeMutablePointer<CChar>?
    guard natsInbox_Create(&inbox) == NATS_OK, let inbox else {
      throw .passing("no subject for answers")
    }
    defer { natsInbox_Destroy(inbox) }
    return String(cString: inbox)
  }
}
