// The calls of JetStream's interface that the log makes: one attempt each.

internal import Foundation
internal import TreeRingReplication

/// The calls about one stream over one connection.
struct StreamCalls {
  let connection: Connection
  let stream: String
  let deadline: ContinuousClock.Instant
  /// The time to wait for an answer. A request to a stream without a leader gets none.
  var patience = Duration.seconds(2)

  private struct Answer<Body: Decodable>: Decodable {
    var error: APIError?
    var body: Body?

    enum CodingKeys: CodingKey { case error }

    init(from decoder: any Decoder) throws {
      error = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
        APIError.self, forKey: .error)
      body = error == nil ? try Body(from: decoder) : nil
    }
  }

  private struct Nothing: Codable {}

  private func call<Body: Decodable>(
    _ name: String, _ body: some Encodable
  ) throws(AttemptFailure) -> Body {
    let bytes = try encode(body)
    let answer = try connection.request(
      "$JS.API.\(name).\(stream)", bytes, within: min(patience, deadline.rest))
    return try Self.decode(answer)
  }

  private func encode(_ body: some Encodable) throws(AttemptFailure) -> [UInt8] {
    do {
      return [UInt8](try JSONEncoder().encode(body))
    } catch {
      throw .refused("a request could not be written: \(error)")
    }
  }

  /// Reads an answer of JetStream, and throws the error that it contains.
  static func decode<Body: Decodable>(_ bytes: [UInt8]) throws(AttemptFailure) -> Body {
    let answer: Answer<Body>
    do {
      answer = try JSONDecoder().decode(Answer<Body>.self, from: Data(bytes))
    } catch {
      throw .passing("an answer could not be read: \(error)")
    }
    if let error = answer.error { throw .answered(error) }
    guard let body = answer.body else { throw .passing("an answer is empty") }
    return body
  }

  /// The leader's knowledge of the stream.
  func info() throws(AttemptFailure) -> StreamInfo { try call("STREAM.INFO", Nothing()) }

  /// Creates the stream. If it exists with the same configuration, that is no error.
  func create(_ configuration: StreamConfiguration) throws(AttemptFailure) -> StreamInfo {
    try call("STREAM.CREATE", configuration)
  }

  /// Removes the entries before a number.
  func purge(before first: UInt64) throws(AttemptFailure) {
    let _: Nothing = try call("STREAM.PURGE", ["seq": first])
  }

  /// The headers of an entry, as its leader has it.
  func headers(of number: UInt64) throws(AttemptFailure) -> String {
    struct Found: Decodable {
      struct Message: Decodable { var hdrs: String? }
      var message: Message
    }
    let found: Found = try call("STREAM.MSG.GET", ["seq": number])
    return Data(base64Encoded: found.message.hdrs ?? "")
      .map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// The newest message of a subject, as the stream's leader has it.
  func last(of subject: String) throws(AttemptFailure) -> KeyValueBucket.Entry {
    struct Found: Decodable {
      struct Message: Decodable {
        var seq: UInt64
        var data: String?
      }
      var message: Message
    }
    let found: Found = try call("STREAM.MSG.GET", ["last_by_subj": subject])
    let value = Data(base64Encoded: found.message.data ?? "") ?? Data()
    return KeyValueBucket.Entry(value: [UInt8](value), revision: found.message.seq)
  }

  /// The subjects of the stream's messages.
  func subjects(matching filter: String) throws(AttemptFailure) -> [String] {
    struct Found: Decodable {
      struct State: Decodable { var subjects: [String: UInt64]? }
      var state: State
    }
    let found: Found = try call("STREAM.INFO", ["subjects_filter": filter])
    return (found.state.subjects ?? [:]).keys.sorted()
  }

  /// Publishes a message, and waits for its acknowledgement.
  func publish(
    _ bytes: [UInt8], to subject: String, headers: [(String, String)]
  ) throws(AttemptFailure) {
    let answer = try connection.request(
      subject, bytes, headers: headers, within: min(patience, deadline.rest))
    let _: Nothing = try Self.decode(answer)
  }

  /// Makes the server send the entries from a number on to a subject.
  /// - Returns: The number of entries that are there already.
  func follow(from first: UInt64, to subject: String) throws(AttemptFailure) -> UInt64 {
    struct Request: Encodable {
      var stream: String
      var config: ConsumerConfiguration
      enum CodingKeys: String, CodingKey {
        case stream = "stream_name"
        case config
      }
    }
    struct Created: Decodable {
      var pendingCount: UInt64?
      enum CodingKeys: String, CodingKey { case pendingCount = "num_pending" }
    }
    let configuration = ConsumerConfiguration(subject: subject, first: first)
    let created: Created = try call(
      "CONSUMER.CREATE", Request(stream: stream, config: configuration))
    return created.pendingCount ?? 0
  }
}
