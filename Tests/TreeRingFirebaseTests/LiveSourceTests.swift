// Collections over the fake server: random writes, pages in both directions, lost connections.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase

@Suite struct LiveSourceTests {
  static let modes: [LoadingMode] = [.live, .whole, .paged(batchSize: 2), .paged(batchSize: 5)]

  /// Makes a random write: of a child, below it, of several, of the whole, or elsewhere.
  private func write(_ server: FakeFirebase, _ random: inout SeededGenerator) {
    let location = FirebaseStage.location
    let key = random.key()
    switch Int.random(in: 0..<12, using: &random) {
    case 0...3: server.put(random.data(depth: 2), at: location + [key])
    case 4: server.put(.null, at: location + [key])
    case 5, 6: server.put(random.data(depth: 1), at: location + [key, random.key()])
    case 7: server.put(.leaf(random.scalar()), at: location + [key, "a"])
    case 8, 9:
      var children: [[String]: PlainData] = [:]
      for _ in 0..<3 {
        children[random.chance(2) ? [random.key()] : [random.key() + "x", "a"]] = random.data(
          depth: 1)
      }
      server.patch(children, at: location)
    case 10: server.put(random.data(depth: 2), at: ["rooms", "other"])
    default:
      if random.chance(3) {
        server.put(random.data(depth: 3), at: random.chance(2) ? location : ["rooms"])
      } else {
        server.patch([["r1", key]: random.data(depth: 1), ["other"]: .null], at: ["rooms"])
      }
    }
  }

  /// A query in an order, with random bounds and possibly a limit.
  private func query(
    _ order: FirebaseOrder, _ random: inout SeededGenerator
  ) throws -> FirebaseQuery {
    var query = FirebaseQuery(order)
    if order == .key {
      if random.chance(4) { query = query.starting(at: .text(random.key())) }
      if random.chance(4) { query = query.ending(at: .text(random.key())) }
    } else {
      let values: [FirebaseScalar] = [nil, false, true, -1, 0, 0.5, "", "a", "p", "\u{FF5A}"]
      let key = random.chance(2) ? try FirebaseKey(random.key()) : nil
      if random.chance(4) { query = query.starting(at: random.pick(values), key: key) }
      if random.chance(4) { query = query.ending(at: random.pick(values), key: key) }
      if random.chance(8) { query = query.equal(to: random.pick(values)) }
    }
    if random.chance(6) { query = query.limited(toFirst: Int.random(in: 1...6, using: &random)) }
    if random.chance(6) { query = query.limited(toLast: Int.random(in: 1...6, using: &random)) }
    return query
  }

  @Test(arguments: seeds(1...36)) func aCollectionEqualsTheServer(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let order = random.pick(OrderTests.orders)
    let mode = random.pick(Self.modes)
    let query = try query(order.0, &random)
    let server = FakeFirebase(seed: seed, piece: random.pick([nil, nil, 1, 7]))
    for _ in 0..<random.pick([0, 4, 16]) { write(server, &random) }
    let stage = try FirebaseStage(
      "seed \(seed), \(mode), \(query)", server: server, mode: mode, order: order,
      query: query,
      options: FirebaseStage.options(
        transport: seed % 3 == 0 ? SessionTransport(limit: 1 << 20) : nil))
    let direction = random.pick([LoadDirection.forward, .backward])
    stage.collection.startLoading(direction)
    for _ in 0..<40 {
      write(server, &random)
      if random.chance(12) { server.dropStreams() }
      if random.chance(6) { stage.collection.startLoading(direction) }
      if random.chance(4) { await Task.yield() }
      if random.chance(8) { try await Task.sleep(for: .milliseconds(1)) }
    }
    // An order by a path that holds objects has no pages within these.
    for _ in 0..<60 {
      let outcome = await stage.collection.load(direction)
      if let error = outcome.error as? FirebaseError, error.code == .notSupported {
        await stage.end()
        return
      }
      #expect(outcome.error == nil, "\(stage.name)")
      if !outcome.hasMore { break }
    }
    try await stage.settle()
    for _ in 0..<5 { write(server, &random) }
    try await stage.settle()
    await stage.end()
  }

  @Test func theNewestChildrenArriveWhileOlderOnesAreLoaded() async throws {
    let server = FakeFirebase()
    let stage = try FirebaseStage(server: server, mode: .paged(batchSize: 3))
    for number in 10..<20 { stage.put("m\(number)", .number(Double(number))) }
    func shown() -> [String] { stage.collection.shown.map(\.identifier) }
    #expect(await stage.collection.load(.backward).hasMore)
    #expect(shown() == ["m17", "m18", "m19"])
    stage.put("m20", .bool(true))
    await stage.wait(for: "the new child") { shown() == ["m17", "m18", "m19", "m20"] }
    #expect(await stage.collection.load(.backward).rows == 3)
    #expect(shown() == ["m14", "m15", "m16", "m17", "m18", "m19", "m20"])
    // A child of the loaded range, one before it, and the first loaded one.
    stage.put("m155", .bool(true))
    stage.put("m11", .null)
    stage.put("m14", .null)
    await stage.wait(for: "the changes") {
      shown() == ["m15", "m155", "m16", "m17", "m18", "m19", "m20"]
    }
    #expect(await stage.collection.load(.backward).rows == 3)
    #expect(await stage.collection.load(.backward).hasMore == false)
    try await stage.settle()
    await stage.end()
  }

  @Test func aLimitIsAWindow() async throws {
    let server = FakeFirebase()
    let query = FirebaseQuery(.child("n")).limited(toLast: 3)
    let stage = try FirebaseStage(
      server: server, order: (.child("n"), .child(["n"])), query: query)
    func put(_ key: String, _ number: Double) {
      server.put(.object(["n": .leaf(.number(number))]), at: FirebaseStage.location + [key])
    }
    func shown() -> [String] { stage.observer.state.withLock { $0.list.map(\.identifier) } }
    for (index, key) in ["a", "b", "c", "d"].enumerated() { put(key, Double(index)) }
    #expect(await stage.collection.load().rows == 3)
    #expect(shown() == ["b", "c", "d"])
    put("a", 9)
    await stage.wait(for: "the window") { shown() == ["c", "d", "a"] }
    server.put(.null, at: FirebaseStage.location + ["d"])
    await stage.wait(for: "the window") { shown() == ["b", "c", "a"] }
    let page = try await stage.source.page(PageRequest(direction: .backward, limit: 2))
    #expect(page.children.map(\.key) == ["a", "c"] && page.hasMore)
    stage.check()
    await stage.end()
  }

  @Test func childEventsFollowTheServer() async throws {
    let server = FakeFirebase()
    let stage = try FirebaseStage(server: server)
    stage.put("b", .number(1))
    stage.put("d", .number(2))
    var list = EventList()
    var writes: [() -> Void] = [
      { stage.put("a", .number(3)) }, { stage.put("b", .text("x")) }, { stage.put("d", .null) },
      { server.dropStreams() }, { stage.put("c", .number(4)) },
    ]
    let expected = ["a", "b", "c"]
    for try await event in stage.source.childEvents {
      list.apply([event])
      if list.children.map(\.key.text) == expected { break }
      if list.children.count >= 2, !writes.isEmpty { writes.removeFirst()() }
      if case .removed = event { while !writes.isEmpty { writes.removeFirst()() } }
    }
    #expect(list.flaws.isEmpty)
    #expect(list.children.map(\.node.text) == [nil, "x", nil])
    await stage.wait(for: "the end of the stream") { server.streamCount == 0 }
    await stage.end()
  }

  @Test(arguments: [LoadingMode.live, .paged(batchSize: 2)])
  func aConnectionMayBeLostAtEveryByte(mode: LoadingMode) async throws {
    for count in stride(from: 0, through: 240, by: mode == .live ? 1 : 3) {
      let server = FakeFirebase(fault: { request in
        request.number == (mode == .live ? 0 : count % 2) ? .drop(after: count) : nil
      })
      let stage = try FirebaseStage("byte \(count)", server: server, mode: mode)
      for number in 0..<5 { stage.put("k\(number)", .number(Double(number))) }
      #expect(await stage.collection.load(.backward).error == nil, "byte \(count)")
      while await stage.collection.load(.backward).hasMore {}
      stage.put("new", .text("x"))
      try await stage.settle()
      await stage.end()
    }
  }

  @Test func valuesNeverGoBack() async throws {
    let server = FakeFirebase(piece: 5)
    let stage = try FirebaseStage(server: server, mode: .paged(batchSize: 1))
    for number in 10..<30 { stage.put("k\(number)", .number(0)) }
    let isOver = Mutex(false)
    let writer = beginThreads { _ in
      for count in 1..<100_000 where !isOver.withLock(\.self) {
        server.put(
          .leaf(.number(Double(count))), at: FirebaseStage.location + ["k\(10 + count * 7 % 20)"])
        Platform.sleep(.milliseconds(1))
      }
    }
    while await stage.collection.load(.backward).hasMore {}
    isOver.withLock { $0 = true }
    try await onThread { writer.wait() }
    try await stage.settle()
    #expect(stage.observer.goneBack.isEmpty)
    await stage.end()
  }

  @Test func aStreamMayBeLostBetweenWrites() async throws {
    let server = FakeFirebase(piece: 3)
    let stage = try FirebaseStage(server: server)
    await stage.collection.load()
    for number in 0..<60 {
      stage.put("k\(number % 11)", .number(Double(number)))
      if number % 3 == 0 { server.dropStreams() }
      if number % 7 == 0 { try await stage.settle() }
    }
    try await stage.settle()
    await stage.end()
  }
}
