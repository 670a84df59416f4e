// The server's own figures, in the text format of Prometheus.

internal import NIOConcurrencyHelpers

/// Counts since the start.
final class ServerFigures: Sendable {
  struct Values: Sendable {
    var answers: [Int: Int] = [:]
    var messages = 0
    var messageBytes = 0
    var refusedConnections = 0
    var roundCount = 0
    var roundNanoseconds = 0
  }

  private let values = NIOLockedValueBox(Values())

  func answered(_ status: Int) { values.withLockedValue { $0.answers[status, default: 0] += 1 } }
  func sent(_ messages: Int, _ byteCount: Int) {
    if messages == 0 { return }
    values.withLockedValue {
      $0.messages += messages
      $0.messageBytes += byteCount
    }
  }
  func refusedConnection() { values.withLockedValue { $0.refusedConnections += 1 } }
  func round(_ time: Duration) {
    let (seconds, attoseconds) = time.components
    values.withLockedValue {
      $0.roundCount += 1
      $0.roundNanoseconds += Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }
  }

  /// The lines of all figures.
  func text(connections: Int, readers: Int) -> [UInt8] {
    let values = values.withLockedValue { $0 }
    var text = ""
    func add(_ name: String, _ kind: String, _ about: String, _ lines: [(String, String)]) {
      text += "# HELP treering_server_\(name) \(about)\n# TYPE treering_server_\(name) \(kind)\n"
      for (labels, value) in lines { text += "treering_server_\(name)\(labels) \(value)\n" }
    }
    add("connections", "gauge", "Open connections.", [("", "\(connections)")])
    add("readers", "gauge", "Live readers.", [("", "\(readers)")])
    add(
      "answers_total", "counter", "Answers by status.",
      values.answers.sorted { $0.key < $1.key }.map { ("{status=\"\($0.key)\"}", "\($0.value)") })
    add("messages_total", "counter", "Messages to readers.", [("", "\(values.messages)")])
    add(
      "message_bytes_total", "counter", "Bytes of those messages.",
      [("", "\(values.messageBytes)")])
    add(
      "refused_connections_total", "counter", "Connections beyond a bound.",
      [("", "\(values.refusedConnections)")])
    add("rounds_total", "counter", "Rounds over all readers.", [("", "\(values.roundCount)")])
    add(
      "round_seconds_total", "counter", "Time of those rounds.",
      [("", "\(Double(values.roundNanoseconds) / 1e9)")])
    return Array(text.utf8)
  }
}
