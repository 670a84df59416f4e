// A service over a store in memory, with short forms for requests and their answers.

import TestSupport
import TreeRing
import TreeRingLive

@testable import TreeRingFirebase
@testable import TreeRingRealtime

/// A service under test.
struct RealtimeStage {
  let store: Store
  let service: RealtimeService

  init(isEmulator: Bool = true, options: RealtimeOptions = RealtimeOptions()) throws {
    var options = options
    options.isEmulator = isEmulator
    store = try Store.inMemory()
    service = RealtimeService(store, isWritable: true, options: options)
  }

  /// The answer to a request, whose target may have characters that URLs escape.
  func ask(
    _ method: String, _ target: String, _ body: String = "", headers: [(String, String)] = []
  ) -> RealtimeAnswer {
    service.answer(request(method, target, body, headers))
  }

  func request(
    _ method: String, _ target: String, _ body: String = "", _ headers: [(String, String)] = []
  ) -> RealtimeRequest {
    RealtimeRequest(
      method: method, target: target, headers: headers.map { (name: $0.0, value: $0.1) },
      body: Array(body.utf8))
  }

  func get(_ target: String, headers: [(String, String)] = []) -> String {
    ask("GET", target, headers: headers).text
  }

  /// Sets the rules of the usual database.
  func setRules(_ rules: String) -> RealtimeAnswer {
    ask("PUT", "/.settings/rules.json", rules, headers: Self.owner)
  }

  static let owner = [("Authorization", "Bearer owner")]
}

extension RealtimeAnswer {
  var text: String { String(decoding: body, as: UTF8.self) }
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// The target of a path, with all that URLs escape.
func target(_ path: [String], _ query: String = "") -> String {
  "/" + path.map(escaped).joined(separator: "/") + ".json" + (query.isEmpty ? "" : "?" + query)
}

func escaped(_ text: String) -> String {
  text.utf8.map { byte in
    let isPlain =
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    return isPlain
      ? String(UnicodeScalar(byte))
      : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }.joined()
}

/// A client of a stream: it folds the events into a node.
final class FoldingClient {
  let reader: EventReader
  private(set) var node = FirebaseNode.null
  private(set) var events: [String] = []
  private var parser = EventStreamParser(limit: .max)

  init(_ reader: EventReader) { self.reader = reader }

  /// Takes all messages that are due.
  func drain() throws {
    while let message = reader.nextMessage() {
      for event in try parser.take(message) {
        events.append("\(event.name) \(String(decoding: event.data, as: UTF8.self))")
        guard case .change(let replacements)? = try TreeEvent(event) else { continue }
        // All paths of a patch are replaced at once, so none may be above another.
        let paths = replacements.map { TreeKey.children($0.path.keys) }.sorted {
          $0.lexicographicallyPrecedes($1)
        }
        for (first, second) in zip(paths, paths.dropFirst()) where second.starts(with: first) {
          throw RealtimeError(500, "A patch has paths above another: \(events.last ?? "")")
        }
        for replacement in replacements { node.replace(replacement.path, by: replacement.node) }
      }
    }
  }

  /// The events since the last call.
  func take() throws -> [String] {
    try drain()
    defer { events = [] }
    return events
  }
}
