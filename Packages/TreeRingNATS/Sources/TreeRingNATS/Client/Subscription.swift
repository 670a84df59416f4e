// Subscriptions and messages of the client library, with the owners of their objects.

internal import CNATS
internal import Foundation

/// The messages for a subject, which threads fetch.
final class Subscription: @unchecked Sendable {
  // The library's subscription serves any thread, and lives until the connection has freed it.
  private let pointer: OpaquePointer
  let connection: Connection

  init(_ pointer: OpaquePointer, of connection: Connection) {
    (self.pointer, self.connection) = (pointer, connection)
    // The server's flow control limits the messages that wait here.
    natsSubscription_SetPendingLimits(pointer, -1, 256 << 20)
  }

  deinit { connection.end(pointer) }

  /// The next message; nil if there is none in that time.
  func next(within limit: Duration) throws(AttemptFailure) -> Message? {
    var message: OpaquePointer?
    let status = natsSubscription_NextMsg(&message, pointer, limit.milliseconds)
    if status == NATS_OK, let message { return Message(message) }
    natsMsg_Destroy(message)
    switch status {
    case NATS_OK, NATS_TIMEOUT: return nil
    case NATS_NO_RESPONDERS: throw .passing("the stream has no leader, or JetStream is off")
    default: throw .passing(status.details)
    }
  }
}

/// A message that was received.
struct Message: ~Copyable {
  private let pointer: OpaquePointer

  /// Takes over the ownership of a message.
  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { natsMsg_Destroy(pointer) }

  var bytes: [UInt8] { Self.bytes(of: pointer) }
  var subject: String { natsMsg_GetSubject(pointer).map { String(cString: $0) } ?? "" }
  var reply: String? { natsMsg_GetReply(pointer).map { String(cString: $0) } }

  func header(_ name: String) -> String? {
    var value: UnsafePointer<CChar>?
    guard natsMsgHeader_Get(pointer, name, &value) == NATS_OK else { return nil }
    return value.map { String(cString: $0) }
  }

  /// The numbers within the stream and within the consumer of an entry that a consumer delivered;
  /// nil for a message of another kind.
  var numbers: (entry: UInt64, delivery: UInt64)? {
    guard let reply = natsMsg_GetReply(pointer) else { return nil }
    return Self.numbers(in: UnsafeRawBufferPointer(start: reply, count: strlen(reply)))
  }

  /// The form is `$JS.ACK.stream.consumer.deliveries.entry.delivery.time.pending`, or the same with
  /// the domain and the account before the stream's name and further words at the end.
  static func numbers(in text: UnsafeRawBufferPointer) -> (entry: UInt64, delivery: UInt64)? {
    guard text.starts(with: "$JS.ACK.".utf8) else { return nil }
    let wordCount = text.reduce(1) { $1 == UInt8(ascii: ".") ? $0 + 1 : $0 }
    guard wordCount >= 9 else { return nil }
    let entryIndex = wordCount == 9 ? 5 : 7
    var (index, values): (Int, (UInt64, UInt64)) = (0, (0, 0))
    for byte in text {
      if byte == UInt8(ascii: ".") {
        index += 1
      } else if index == entryIndex || index == entryIndex + 1 {
        guard (48...57).contains(byte) else { return nil }
        let digit = UInt64(byte - 48)
        if index == entryIndex {
          values.0 = values.0 &* 10 &+ digit
        } else {
          values.1 = values.1 &* 10 &+ digit
        }
      } else if index > entryIndex + 1 {
        break
      }
    }
    return (values.0, values.1)
  }

  static func bytes(of pointer: OpaquePointer) -> [UInt8] {
    guard let data = natsMsg_GetData(pointer) else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(pointer))))
  }
}
