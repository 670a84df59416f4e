// Collections over a real server: Tools/test-firebase starts treering-server, and gives its address
// in the variable TREERING_FIREBASE. Without it these tests are left out.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The address of the server.
private let serverAddress = ProcessInfo.processInfo.environment["TREERING_FIREBASE"]

@Suite(.enabled(if: serverAddress != nil), .serialized) struct RealServerTests {
  /// A location of the server, with a model of its data.
  private struct Place {
    let name: String
    var tree = PlainTree()

    func url(_ path: [String], _ suffix: String = "") throws -> URL {
      let text = ([name] + path).map(escaped).joined(separator: "/")
      let address = serverAddress ?? ""
      return try #require(URL(string: "\(address)/\(text)\(suffix)?ns=source"))
    }

    private func escaped(_ text: String) -> String {
      text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    mutating func put(_ data: PlainData, at path: [String]) async throws {
      try await send("PUT", path, data.json(exporting: true))
      tree.put(data, at: path)
    }

    mutating func patch(_ children: [[String]: PlainData]) async throws {
      let members = children.map {
        "\"\($0.key.joined(separator: "/"))\": \($0.value.json(exporting: true))"
      }
      try await send("PATCH", [], "{\(members.joined(separator: ","))}")
      for (path, data) in children { tree.put(data, at: path) }
    }

    private func send(_ method: String, _ path: [String], _ body: String) async throws {
      var request = URLRequest(url: try url(path, ".json"))
      request.httpMethod = method
      request.httpBody = Data(body.utf8)
      let (answer, response) = try await URLSession.shared.data(for: request)
      let status = (response as? HTTPURLResponse)?.statusCode
      #expect(status == 200, "\(method) \(path): \(String(decoding: answer, as: UTF8.self))")
    }
  }

  @Test(arguments: seeds(1...12)) func aCollectionEqualsTheServer(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let order = random.pick(OrderTests.orders)
    let mode = random.pick(LiveSourceTests.modes)
    var place = Place(name: "room\(seed)")
    for _ in 0..<random.pick([0, 4, 16]) {
      try await place.put(random.data(depth: 2), at: [random.key()])
    }
    let source = try FirebaseSource(
      place.url([]), query: FirebaseQuery(order.0),
      options: FirebaseStage.options(
        transport: seed % 3 == 0 ? SessionTransport(limit: 1 << 20) : nil))
    let observer = ItemObserver()
    let collection = LiveCollection(
      source: source, options: CollectionOptions(order: .source, mode: mode)
    ) { Item($0) }
    collection.add(observer)
    collection.startLoading(.forward)
    for _ in 0..<30 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0...2: try await place.put(random.data(depth: 2), at: [random.key()])
      case 3: try await place.put(random.data(depth: 1), at: [random.key(), random.key()])
      case 4: try await place.put(.null, at: [random.key()])
      default:
        try await place.patch([[random.key() + "x", "a"]: random.data(depth: 1), ["q"]: .null])
      }
      if random.chance(6) { collection.startLoading(.forward) }
    }
    let expected = try order.1.keys(place.tree, []).map { key in
      let json = place.tree.data(at: [key]).json(exporting: order.0 == .priority)
      return Item(
        FirebaseChild(key: try FirebaseKey(key), node: try FirebaseNode(json: json.utf8)))
    }
    for _ in 0..<60 {
      let outcome = await collection.load(.forward)
      // An order by a path that holds objects has no pages within these.
      if let error = outcome.error as? FirebaseError, error.code == .notSupported {
        return collection.stop()
      }
      #expect(outcome.error == nil, "seed \(seed)")
      if !outcome.hasMore { break }
    }
    for _ in 0..<10_000 where collection.shown != expected {
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(collection.shown == expected, "seed \(seed) \(order.0) \(mode)")
    #expect(observer.state.withLock(\.flaws).isEmpty, "seed \(seed)")
    collection.stop()
  }
}
