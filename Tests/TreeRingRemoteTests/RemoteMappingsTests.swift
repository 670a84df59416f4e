import Foundation
import TestSupport
import Testing
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings
import TreeRingPlatform

@testable import TreeRingRemote

@Suite("Remote windows")
@MainActor
struct RemoteMappingsTests {
  private func window(
    _ request: RemoteRequest, _ server: MemoryServer, attempts: Int? = nil, limit: Int = 500,
    token: (@Sendable (RemoteTokenRequest) async throws -> String?)? = nil
  ) throws -> RemoteMappings {
    let address = try #require(URL(string: "http://store.example:8700/#token=of-the-address"))
    return try RemoteMappings(
      request, at: address,
      options: RemoteOptions(
        token: token, firstDelay: .microseconds(50), longestDelay: .microseconds(200),
        attempts: attempts, changeLimit: limit, transport: server))
  }

  /// Lets the server send until a condition holds; false if it does not in time.
  private func eventually(
    _ server: MemoryServer, _ condition: () throws -> Bool
  ) async rethrows -> Bool {
    let end = ContinuousClock.now + patience
    while ContinuousClock.now < end {
      if try condition() { return true }
      server.pump()
      await Task.yield()
      try? await Task.sleep(for: .microseconds(100))
    }
    return false
  }

  @Test("Connections lost at any byte, seeks and grown ranges: the list is the store's answer")
  func model() async throws {
    for seed in seeds(1...8) {
      var board = try RemoteBoard(seed: seed)
      for _ in 0..<10 { try board.commit() }
      let store = board.store
      var limits = LiveLimits()
      if seed % 2 == 0 { (limits.pieceByteCount, limits.operations) = (300, 6) }
      let server = MemoryServer(LiveService(store, limits: limits), seed: seed)
      server.lossRate = 4
      var request = board.request()
      let remote = try window(request, server, limit: seed % 3 == 0 ? 10 : 500)
      let list = DrivenList()
      var resets = 0
      let changes = Task { @MainActor in
        for try await change in remote.changes {
          if change.isReset { resets += 1 }
          list.apply(change)
        }
      }
      var target: CommitNumber?
      for turn in 0..<40 {
        switch board.below(6) {
        case 0:
          let point = 1 + UInt64(board.below(Int(store.newestCommit)))
          try remote.seek(.commit(point))
          target = point
        case 1:
          try remote.live()
          target = nil
        case 2:
          let (group, range) = (RemoteBoard.groups[board.below(4)], board.range())
          try remote.setRange(range, of: group)
          request.ranges[group] = .some(range)
        case 3: server.lose()
        default: for _ in 0...board.below(4) { try board.commit() }
        }
        if board.chance(2) { continue }
        server.lossRate = board.chance(2) ? 4 : 0
        let commit = target ?? store.newestCommit
        let snapshot = try await store.snapshot(at: .commit(commit))
        var local = store.observer(of: request.mappings)
        let expected = try Listing(local.advance(to: snapshot).after, in: snapshot)
        let isThere = await eventually(server) { Listing(remote.shown) == expected }
        #expect(isThere, "seed \(seed), turn \(turn): \(Listing(remote.shown)) is not \(expected)")
        let rows = expected.sections.map { $0.rows.map(\.row) }
        if !isThere { break }
        #expect(
          await eventually(server) { list.displayed == rows }, "seed \(seed), turn \(turn)")
      }
      #expect(list.refusals.isEmpty && list.reloads == resets, "seed \(seed): \(list.refusals)")
      if seed % 3 != 0 { #expect(resets == 1, "seed \(seed)") }
      remote.close()
      try await changes.value
      #expect(server.flaws.isEmpty)
      try #require(await eventually(server) { server.connectionCount == 0 })
    }
  }

  @Test(
    "Totals are those of the server's groups, also after commits that change nothing shown",
    arguments: seeds(1...6))
  func totals(seed: UInt64) async throws {
    var board = try RemoteBoard(seed: seed)
    let fields = try FieldIndex(bucket: "rows", group: "group", order: [.init("order")])
    _ = try await board.store.define("sums", fields.summing("order"))
    let server = MemoryServer(LiveService(board.store))
    var request = RemoteRequest("sums", groups: ["a", "b"])
    request.range = .fixed(length: 2, offset: 1)
    request.givesTotals = true
    let remote = try window(request, server)
    func expected() throws -> [RemoteTotal] {
      let index = try board.store.snapshot().index("sums")
      return try (["a", "b"] as [GroupName]).map { group in
        let count = try index.count(in: group)
        let sum = try index.sum(in: group)
        return RemoteTotal(group: group, first: min(1, count), count: count, sum: sum)
      }
    }
    let stream = remote.totalChanges
    let seen = Mutex<[RemoteTotal]>([])
    let reader = Task {
      for await totals in stream { seen.withLock { $0 = totals } }
    }
    for turn in 0..<12 {
      try board.commit()
      if turn % 5 == 4 { server.lose() }
      let wanted = try expected()
      #expect(
        await eventually(server) { remote.totals == wanted && seen.withLock { $0 } == wanted },
        "seed \(seed), turn \(turn): \(remote.totals) \(wanted)")
    }
    #expect(try window(RemoteRequest("sums"), server).totals.isEmpty)
    remote.close()
    await reader.value
  }

  @Test("A typed handle and the values of groups give the request that names give")
  func types() {
    let index = Index(named: "board", on: RemoteBoard.rows, group: Int.self)
    #expect(RemoteRequest(index, groups: [7, 3]) == RemoteRequest("board", groups: ["7", "3"]))
    #expect(RemoteRequest("board", groups: [7]) == RemoteRequest("board", groups: ["7"]))
    #expect(RemoteRequest(index) == RemoteRequest("board"))
  }

  @Test("A reader that does not read gets one merged change; objects are decoded")
  func merged() async throws {
    struct Content: Decodable, Equatable { var order: Int? }
    let store = try RemoteBoard(seed: 1).store
    func put(_ key: Key, _ order: Int) throws {
      let object = "{\"group\":\"a\",\"order\":\(order)}"
      try store.write { try $0.put(Array(object.utf8), for: key, in: RemoteBoard.rows) }
    }
    try put("k1", 1)
    let server = MemoryServer(LiveService(store))
    var request = RemoteRequest("board", groups: ["a"])
    request.fields = ["order"]
    let remote = try window(request, server)
    var changes = remote.changes.makeAsyncIterator()
    try #require(await eventually(server) { remote.commit != nil })
    #expect(try await changes.next()?.isReset == true)
    for order in 0..<300 { try put(Key("k\(order % 3)"), order % 7) }
    try put("k9", 100)
    let row = RowID(bucket: "rows", key: "k9")
    try #require(await eventually(server) { remote.object(of: row) != nil })
    let change = try #require(try await changes.next())
    #expect(!change.isReset && change.rows.inserts.map(\.row).contains(row))
    #expect(change.after.commit == store.newestCommit && remote.date != nil)
    #expect(try change.after.decode(Content.self, of: row) == Content(order: 100))
    #expect(change.after.object(of: row) == Array("{\"order\":100}".utf8))
    let absent = RowID(bucket: "none", key: "k9")
    #expect(try remote.decode(Content.self, of: absent) == nil)
    remote.close()
    #expect(try await changes.next() == nil)
    #expect(throws: RemoteError.self) { try remote.live() }
    #expect(remote.state == .closed(nil) && remote.shown.rowCount == change.after.rowCount)
  }

  /// The error with which the next change fails; nil if there is a change.
  private func error(of changes: inout RemoteChanges.Iterator) async -> RemoteError? {
    do throws(RemoteError) {
      _ = try await changes.next()
      return nil
    } catch {
      return error
    }
  }

  @Test("A moment that is refused leaves the window as it was; an index that is missing ends it")
  func refusals() async throws {
    var board = try RemoteBoard(seed: 2)
    for _ in 0..<5 { try board.commit() }
    let server = MemoryServer(LiveService(board.store))
    let remote = try window(RemoteRequest("board", groups: ["a", "b"]), server)
    var changes = remote.changes.makeAsyncIterator()
    try #require(await eventually(server) { remote.commit != nil })
    _ = try await changes.next()
    let pump = Task {
      while !Task.isCancelled {
        server.pump()
        try? await Task.sleep(for: .microseconds(200))
      }
    }
    for point in [ReadPoint.tag("none"), .commit(99_999)] {
      try remote.seek(point)
      #expect(await error(of: &changes)?.code == .notFound)
    }
    #expect(throws: RemoteError.self) { try remote.extendRange(of: "a", by: 1) }
    try await board.store.write { tx in
      try tx.put(Array("{\"group\":\"a\",\"order\":9}".utf8), for: "x", in: RemoteBoard.rows)
    }
    let row = RowID(bucket: "rows", key: "x")
    try #require(
      await eventually(server) { remote.object(of: row) != nil && remote.state == .current })
    #expect(try await changes.next()?.rows.inserts.map(\.row) == [row])
    try await board.store.removeIndex("board")
    try #require(
      await eventually(server) { if case .closed = remote.state { true } else { false } })
    #expect(await error(of: &changes) != nil)
    #expect(try await changes.next() == nil)
    let other = try window(RemoteRequest("none"), server)
    try #require(
      await eventually(server) { if case .closed = other.state { true } else { false } })
    pump.cancel()
    guard case .closed(let error?) = other.state else { return }
    #expect(error.code == .notFound)
  }

  /// The states through which a window passes, until it is closed or current.
  private func end(
    _ server: MemoryServer, attempts: Int? = nil,
    token: (@Sendable (RemoteTokenRequest) async throws -> String?)? = nil
  ) async throws -> RemoteState {
    let remote = try window(
      RemoteRequest("board", groups: ["a"]), server, attempts: attempts, token: token)
    _ = await eventually(server) {
      switch remote.state {
      case .closed, .current: true
      default: false
      }
    }
    return remote.state
  }

  @Test("Each status is a typed error or another attempt; a token is renewed once")
  func statuses() async throws {
    let service = LiveService(try RemoteBoard(seed: 3).store)
    func code(
      attempts: Int? = nil, token: (@Sendable (RemoteTokenRequest) async throws -> String?)? = nil,
      _ fault: @escaping @Sendable (Int, String?) -> MemoryServer.Fault?
    ) async throws -> RemoteError.Code? {
      let state = try await end(
        MemoryServer(service, fault: fault), attempts: attempts, token: token)
      if case .closed(let error?) = state {
        #expect(!"\(error)".contains("of-the-address"))
        return error.code
      }
      #expect(state == .current)
      return nil
    }
    for (status, expected) in [
      (401, RemoteError.Code.tokenRefused), (403, .notAllowed), (404, .refused), (405, .refused),
      (307, .refused), (421, .refused), (200, .malformed),
    ] {
      let text = "{\"error\":{\"code\":\"x\",\"message\":\"No.\"}}"
      #expect(
        try await code { _, _ in .init(status: status, type: "text/html", text: text) } == expected,
        "\(status)")
    }
    for status in [408, 429, 500, 503] {
      #expect(try await code { number, _ in number < 4 ? .init(status: status) : nil } == nil)
    }
    #expect(try await code(attempts: 3) { _, _ in .init(status: 503) } == .unavailable)
    #expect(try await code(attempts: 3) { _, _ in .init(text: "data: {") } == .unreachable)
    #expect(
      try await code { _, token in token == "Bearer of-the-address" ? nil : .init(status: 401) }
        == nil)
    let renewed: @Sendable (RemoteTokenRequest) async throws -> String? = {
      $0 == .first ? "old" : "new"
    }
    #expect(
      try await code(token: renewed) { _, token in
        token == "Bearer new" ? nil : .init(status: 401)
      } == nil)
    #expect(try await code(token: renewed) { _, _ in .init(status: 401) } == .tokenRefused)
    #expect(
      try await code(token: { _ in throw CancellationError() }) { _, _ in nil } == .tokenRefused)
    for address in ["ftp://x", "http://", "/v1/live"] {
      let url = try #require(URL(string: address))
      #expect(throws: RemoteError.self) { try RemoteMappings(RemoteRequest("board"), at: url) }
    }
  }

  @Test("Messages that do not fit are typed errors, whatever their bytes")
  func badMessages() async throws {
    var board = try RemoteBoard(seed: 4)
    for _ in 0..<30 { try board.commit() }
    let service = LiveService(board.store)
    var messages: [[UInt8]] = []
    var mirror = WindowMirror(RemoteRequest("board"))
    let session = try service.session(for: LiveAccess(.read), messages: mirror.begin())
    for _ in 0..<30 {
      while let message = session.nextMessage() { messages.append(message) }
      try board.commit()
    }
    let valid = messages
    func rejects(_ text: String, after count: Int = 1) -> Bool {
      var mirror = WindowMirror(RemoteRequest("board"))
      _ = mirror.begin()
      for message in valid.prefix(count) { _ = try? mirror.take(message) }
      let (rows, commit) = (mirror.rows.rowCount, mirror.commit)
      do throws(RemoteError) {
        _ = try mirror.take(Array(text.utf8))
        return false
      } catch {
        #expect(mirror.rows.rowCount == rows && mirror.commit == commit)
        return error.code == .malformed
      }
    }
    let commit = try #require(
      String(decoding: valid[0], as: UTF8.self).firstMatch(of: /"commit":(\d+)/)?.1)
    let head = "{\"id\":1,\"from\":\(commit),\"commit\":999,\"at\":\"2026-11-25T08:00:00Z\""
    let twice = "[\"r\",\"k\",1],[\"r\",\"k\",1]"
    for text in [
      "", "{", "[]", "nonsense", "{\"id\":1,\"commit\":-1}", "{\"id\":1,\"commit\":7}",
      "{\"id\":1,\"commit\":7,\"sections\":[]}", "{\"id\":1,\"from\":1,\"commit\":7}",
      "{\"id\":1,\"commit\":7,\"at\":\"then\",\"reset\":\"firstState\",\"sections\":[]}",
      "{\"id\":1,\"commit\":7,\"reset\":\"x\",\"sections\":[[\"a\",[]],[\"b\",[]],[\"a\",[]]]}",
      "{\"id\":1,\"commit\":7,\"reset\":\"x\",\"sections\":[[\"a\",[\(twice)]]]}",
      "{\"id\":1,\"commit\":7,\"reset\":\"x\",\"sections\":[[\"a\",[[\"r\",\"k\"]]]]}",
      "{\"id\":1,\"commit\":7,\"reset\":\"x\",\"sections\":[[{\"$base64\":\"!\"},[]]]}",
      head + ",\"rows\":{\"remove\":[[\"a\",\"rows\",\"absent\"]]}}",
      head + ",\"rows\":{\"remove\":[[\"none\",\"rows\",\"k1\"]]}}",
      head + ",\"rows\":{\"place\":[[\"none\",\"rows\",\"k\",null,null,1]]}}",
      head + ",\"rows\":{\"place\":[[\"c\",\"rows\",\"new\",null,null]]}}",
      head + ",\"rows\":{\"place\":[[\"c\",\"rows\",\"new\",null,[\"rows\",\"absent\"],1]]}}",
      head + ",\"rows\":{\"update\":[[\"c\",\"rows\",\"absent\",[\"object\"],1]]}}",
      head + ",\"sections\":{\"remove\":[\"none\"]}}",
      head + ",\"sections\":{\"place\":[[\"c\",null,[]]]}}",
      head + ",\"sections\":{\"place\":[[\"none\",null,null]]}}",
      head + ",\"sections\":{\"place\":[[\"c\",\"c\",null]]}}",
      head + ",\"sections\":{\"place\":[[\"new\",\"none\",[]]]}}", head + ",\"rows\":[]}",
    ] { #expect(rejects(text), "\(text)") }
    for seed in seeds(1...3000) {
      var random = SeededGenerator(seed: seed)
      var mirror = WindowMirror(RemoteRequest("board"))
      _ = mirror.begin()
      for var message in valid.prefix(1 + Int.random(in: 0..<8, using: &random)) {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
          let place = Int.random(in: 0..<message.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: message[place] = UInt8.random(in: 0...255, using: &random)
          case 1: message.removeSubrange(place..<min(message.count, place + 9))
          default: message.insert(contentsOf: message.prefix(place).suffix(20), at: place)
          }
        }
        guard (try? mirror.take(message)) != nil else { break }
      }
      var observer = ListedObserver()
      _ = try observer.advance(
        to: mirror.rows, of: "board", at: mirror.commit ?? 0, changed: [:], limit: .max)
    }
  }

  @Test("Mappings become requests, and parts that no server evaluates are refused")
  func mappings() throws {
    let mappings = Mappings(of: "board", groups: ["a", "b"]).range(.fixed(length: 3))
      .range(nil, of: "b").reversed("a")
    let request = try RemoteRequest(mappings)
    #expect(request.mappings == mappings)
    for other in [
      mappings.consolidated(below: 3, as: "all"), mappings.hidingEmptySection(of: "a"),
      mappings.drawn(withNeighborsAt: [1], in: "a"),
      Mappings(of: "board", groupsWhere: { _ in true }),
    ] { #expect(throws: RemoteError.self) { try RemoteRequest(other) } }
  }
}
