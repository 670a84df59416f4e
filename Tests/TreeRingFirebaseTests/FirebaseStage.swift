// A fake server, a collection over it, and its expected contents.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase
@testable import TreeRingHTTP

struct Item: ValueModel, Hashable {
  var identifier: String
  var json: String

  init(_ child: FirebaseChild) {
    identifier = child.key.childKey
    json = String(decoding: child.node.exportedJSON, as: UTF8.self)
  }
}

/// Keeps its own list from the changes it observes, and checks every event.
final class ItemObserver: CollectionObserver {
  struct State {
    var list: [Item] = []
    var flaws: [String] = []
    var outcomes: [LoadOutcome] = []
    var failures: [any Error] = []
    /// The greatest number that each item had, and the items whose number became smaller.
    var numbers: [String: Double] = [:]
    var goneBack: [String] = []

    mutating func apply(_ change: CollectionChange<Item>) {
      for item in change.added + change.updated {
        guard let number = Double(item.json) else { continue }
        if let last = numbers[item.identifier], number < last { goneBack.append("\(item) \(last)") }
        numbers[item.identifier] = number
      }
      let changes = change.changes
      if changes.oldCount != list.count { flaws.append("an event was lost") }
      var moved: [Int: Item] = [:]
      for (move, model) in zip(changes.moves, change.moved) { moved[move.to] = model }
      for (index, model) in zip(changes.deletes, change.removed)
      where list[index].identifier != model.identifier {
        flaws.append("\(model) is not at \(index)")
      }
      var removed = changes.deletes + changes.moves.map(\.from)
      removed.sort()
      for index in removed.reversed() { list.remove(at: index) }
      let added = Dictionary(uniqueKeysWithValues: zip(changes.inserts, change.added))
      for index in (changes.inserts + changes.moves.map(\.to)).sorted() {
        guard let model = added[index] ?? moved[index] else { continue }
        list.insert(model, at: index)
      }
      for (update, model) in zip(changes.updates, change.updated) {
        if list[update.to] == model, moved[update.to] == nil {
          flaws.append("\(model) was reported twice")
        }
        list[update.to] = model
      }
      if list.count != changes.newCount { flaws.append("the counts differ") }
    }
  }
  let state = Mutex(State())
  var failures: [any Error] { state.withLock(\.failures) }
  var goneBack: [String] { state.withLock(\.goneBack) }
  var outcomes: [LoadOutcome] { state.withLock(\.outcomes) }

  func collection(did change: CollectionChange<Item>) { state.withLock { $0.apply(change) } }
  func collectionDidEndLoad(_ outcome: LoadOutcome) {
    state.withLock { $0.outcomes.append(outcome) }
  }
  func collection(failedWith error: any Error, key: String?) {
    state.withLock { $0.failures.append(error) }
  }
}

/// A fake server, a collection over one location of it, and its expected contents.
final class FirebaseStage {
  static let location = ["rooms", "r1"]

  let server: FakeFirebase
  let source: FirebaseSource
  let collection: LiveCollection<Item>
  let observer = ItemObserver()
  let order: (FirebaseOrder, PlainOrder)
  let name: String
  /// The fake server's reading of the query.
  private let selected: FakeQuery

  init(
    _ name: String = "", server: FakeFirebase, mode: LoadingMode = .live,
    order: (FirebaseOrder, PlainOrder) = (.key, .key), query: FirebaseQuery? = nil,
    options: FirebaseOptions = FirebaseStage.options()
  ) throws {
    self.server = server
    self.name = name
    self.order = order
    let query = query ?? FirebaseQuery(order.0)
    source = try FirebaseSource(server.url("rooms/r1"), query: query, options: options)
    var request = FakeRequest("GET /rooms/r1.json HTTP/1.1\r\nHost: x", number: 0)
    request.parameters = try query.parameters(in: PositionRange()).map { ($0.name, $0.value) }
    selected = try FakeQuery.read(request).get().inOrder(order.1)
    collection = LiveCollection(
      source: source, options: CollectionOptions(order: .source, mode: mode)
    ) { Item($0) }
    collection.add(observer)
  }

  /// Options with short waits.
  static func options(
    listenAttempts: Int? = nil, pageAttempts: Int = 20, silence: Duration = .seconds(20),
    largestMessage: Int = 1 << 20, transport: (any FirebaseTransport)? = nil,
    token: (@Sendable (FirebaseTokenRequest) async throws -> FirebaseToken?)? = nil
  ) -> FirebaseOptions {
    FirebaseOptions(
      token: token, firstDelay: .milliseconds(1), longestDelay: .milliseconds(4),
      listenAttempts: listenAttempts, pageAttempts: pageAttempts, silence: silence,
      largestMessage: largestMessage, transport: transport)
  }

  /// The items of all children, in order.
  func expected() throws -> [Item] {
    let tree = server.tree
    return try selected.keys(tree, Self.location).map { key in
      let data = tree.data(at: Self.location + [key])
      let node = try FirebaseNode(json: data.json(exporting: order.0 == .priority).utf8)
      return Item(FirebaseChild(key: try FirebaseKey(key), node: node))
    }
  }

  func put(_ key: String, _ value: PlainScalar, priority: PlainScalar = .null) {
    server.put(.leaf(value, priority: priority), at: Self.location + [key])
  }

  /// Waits until a condition holds; a test that waits for too long fails.
  func wait(
    for reason: String, sourceLocation: SourceLocation = #_sourceLocation,
    until condition: () throws -> Bool
  ) async rethrows {
    for _ in 0..<20_000 {
      if try condition() { return }
      try? await Task.sleep(for: .milliseconds(1))
    }
    Issue.record(
      "\(reason) did not happen, \(name): \(observer.state.withLock { "\($0.failures)" })",
      sourceLocation: sourceLocation)
  }

  /// Waits until the collection equals the server's children in order, and checks all events.
  func settle(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let expected = try expected()
    // Observers receive a change right after reads see it.
    await wait(for: "equality", sourceLocation: sourceLocation) {
      collection.shown == expected && observer.state.withLock(\.list) == expected
    }
    check(sourceLocation: sourceLocation)
  }

  /// Checks that the observed changes add up to the shown rows, each change once, and that every
  /// request was one of the protocol.
  func check(sourceLocation: SourceLocation = #_sourceLocation) {
    let mirror = observer.state.withLock(\.self)
    #expect(mirror.flaws.isEmpty, "\(name)", sourceLocation: sourceLocation)
    #expect(mirror.list == collection.shown, "\(name)", sourceLocation: sourceLocation)
    #expect(server.flaws.isEmpty, "\(name)", sourceLocation: sourceLocation)
  }

  /// Stops the collection; its connections must close.
  func end(sourceLocation: SourceLocation = #_sourceLocation) async {
    collection.stop()
    await wait(for: "the end of all streams", sourceLocation: sourceLocation) {
      server.streamCount == 0
    }
    server.end()
  }
}
