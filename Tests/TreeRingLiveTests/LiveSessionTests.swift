import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingMappings

@testable import TreeRingLive

@Suite("Live windows against windows that are read anew")
struct LiveSessionTests {
  /// A session with several windows, and a client for each.
  struct Reader {
    var session: LiveSession
    var clients: [Int: LiveClient] = [:]
    var requests: [Int: String] = [:]
    /// The windows that stand at a chosen commit, and that commit.
    var targets: [Int: CommitNumber] = [:]

    /// Takes messages until none is due.
    mutating func read() throws {
      while let message = try session.next() {
        if let closed = message["closed"], closed == .bool(true) { continue }
        guard let id = message["id"]?.integer else {
          throw LiveClient.Failure(sentence: "\(message)")
        }
        try clients[id, default: LiveClient()].apply(message)
      }
    }
  }

  private func compare(
    _ reader: Reader, _ board: LiveBoard, _ comment: Comment, sourceLocation: SourceLocation
  ) throws {
    for (id, client) in reader.clients {
      let commit = reader.targets[id] ?? board.store.newestCommit
      let request = try #require(reader.requests[id])
      let expected = try LiveBoard.naive(request, at: commit, in: board.store)
      #expect(client.sections == expected, comment, sourceLocation: sourceLocation)
      #expect(!client.isPartial, comment, sourceLocation: sourceLocation)
      // Commits that change nothing shown send no message, so the client may stand earlier.
      if reader.targets[id] != nil {
        #expect(client.commit == Int(commit), comment, sourceLocation: sourceLocation)
      }
    }
  }

  @Test("Random commits, seeks, returns, resumes and closes keep every window equal")
  func model() throws {
    var messageCount = 0
    for seed in seeds(1...60) {
      var board = try LiveBoard(seed: seed)
      for _ in 0..<5 { try board.commit() }
      var limits = LiveLimits()
      // Small limits, so that windows come in pieces and large changes as resets.
      if seed % 3 == 0 { (limits.pieceByteCount, limits.operations) = (300, 6) }
      if seed % 3 == 1 { limits.changeByteCount = 900 }
      let service = LiveService(board.store, limits: limits)
      var reader = Reader(session: service.session(for: LiveAccess(.read)))
      var nextID = 1
      for turn in 0..<60 {
        let newest = board.store.newestCommit
        switch Int.random(in: 0..<12, using: &board.random) {
        case 0...1 where reader.clients.count < 6:
          let request = board.request(nextID)
          reader.session.receive(request)
          reader.requests[nextID] = request
          reader.clients[nextID] = LiveClient()
          nextID += 1
        case 2, 3:
          guard let id = reader.clients.keys.sorted().randomElement(using: &board.random) else {
            continue
          }
          let commit = CommitNumber.random(in: 1...newest, using: &board.random)
          reader.session.receive("{\"id\":\(id),\"seek\":\(commit)}")
          reader.targets[id] = commit
        case 4:
          guard let id = reader.targets.keys.sorted().randomElement(using: &board.random) else {
            continue
          }
          reader.session.receive("{\"id\":\(id),\"live\":true}")
          reader.targets[id] = nil
        case 5:
          guard let id = reader.clients.keys.sorted().randomElement(using: &board.random) else {
            continue
          }
          reader.session.receive("{\"id\":\(id),\"close\":true}")
          (reader.clients[id], reader.requests[id], reader.targets[id]) = (nil, nil, nil)
        case 6:
          try resume(&reader, &board, service)
        default:
          for _ in 0..<Int.random(in: 1...5, using: &board.random) { try board.commit() }
        }
        if Int.random(in: 0..<3, using: &board.random) > 0 {
          try reader.read()
          messageCount += 1
          try compare(
            reader, board, "seed \(seed), turn \(turn)", sourceLocation: #_sourceLocation)
        }
      }
    }
    print("live windows: \(messageCount) states compared")
  }

  /// Ends the session and continues each window in a new one, from its commit or its position.
  private func resume(
    _ reader: inout Reader, _ board: inout LiveBoard, _ service: LiveService
  ) throws {
    try reader.read()
    for _ in 0..<Int.random(in: 0...3, using: &board.random) { try board.commit() }
    reader.session = service.session(for: LiveAccess(.read))
    for (id, request) in reader.requests {
      guard let client = reader.clients[id], let commit = client.commit else { continue }
      var from = "\(commit)"
      if Bool.random(using: &board.random), let position = client.position {
        from = "\"\(position)\""
      }
      var at = ""
      if let target = reader.targets[id] { at = ",\"at\":\(target)" }
      reader.clients[id]?.reset = nil
      reader.session.receive(request.dropLast() + ",\"from\":\(from)\(at)}")
    }
    try reader.read()
    for client in reader.clients.values {
      #expect([nil, "overLimit"].contains(client.reset), "a window was sent whole again")
    }
  }

  @Test("Flexible ranges follow their rows, grow, and resume from a position")
  func flexible() throws {
    for seed in seeds(1...40) {
      var board = try LiveBoard(seed: seed)
      for _ in 0..<10 { try board.commit() }
      let service = LiveService(board.store)
      var session = service.session(for: LiveAccess(.read))
      let request =
        "{\"open\":\"w\",\"index\":\"board\",\"groups\":[\"a\",\"b\"],"
        + "\"ranges\":{\"a\":\"flexible:3:1:min=2:max=9:grow=both\",\"b\":\"flexible:2:end\"}}"
      var mappings = Mappings(of: "board", groups: ["a", "b"])
        .range(.flexible(length: 3, offset: 1, min: 2, max: 9, growing: .bothSides), of: "a")
      mappings = mappings.range(
        try RangeSpecification("flexible:2:0:end").options, of: "b")
      session.receive(request.replacing("flexible:2:end", with: "flexible:2:0:end"))
      var client = LiveClient()
      while let message = try session.next() { try client.apply(message) }
      var other = board.store.observer(of: mappings, limit: .max)
      _ = try other.advance()
      // Flexible ranges depend on the steps taken. A client that resumes continues at its last
      // message, so the other observer does, too.
      var atMessage = other
      for turn in 0..<40 {
        var edits: [RangeChange] = []
        if Int.random(in: 0..<4, using: &board.random) == 0 {
          session.receive("{\"id\":\"w\",\"grow\":{\"a\":2}}")
          edits = [RangeChange(.extend(by: 2), of: "a")]
        } else {
          try board.commit()
        }
        let previous = client.position
        while let message = try session.next() { try client.apply(message) }
        let shown = try other.advance(changing: edits).after
        if client.position != previous { atMessage = other }
        let keys = try shown.outline.indices.map { section in
          try (0..<shown.outline[section].count).map { row in
            try shown.row(at: RowPath(section: section, row: row))?.key.description ?? "?"
          }
        }
        #expect(
          client.sections.map { $0.rows.map { $0.key.string ?? "" } } == keys,
          "seed \(seed), turn \(turn)")
        if Int.random(in: 0..<5, using: &board.random) == 0 {
          session = service.session(for: LiveAccess(.read))
          session.receive(
            request.replacing("flexible:2:end", with: "flexible:2:0:end").dropLast()
              + ",\"from\":\"\(client.position ?? "")\"}")
          client.reset = nil
          while let message = try session.next() { try client.apply(message) }
          #expect(client.reset == nil, "seed \(seed), turn \(turn)")
          other = atMessage
          _ = try other.advance()
          atMessage = other
        }
      }
    }
  }

  @Test("A reader that does not read costs a position, and then gets one merged change")
  func stalled() throws {
    var board = try LiveBoard(seed: 3)
    try board.commit()
    let session = LiveService(board.store).session(for: LiveAccess(.read))
    session.receive("{\"open\":1,\"index\":\"board\"}")
    var client = LiveClient()
    try client.apply(try #require(try session.next()))
    for _ in 0..<500 { try board.commit() }
    #expect(try board.store.statistics().pins.isEmpty)
    try client.apply(try #require(try session.next()))
    #expect(try session.next() == nil)
    #expect(client.commit == Int(board.store.newestCommit))
    let expected = try LiveBoard.naive(
      "{\"open\":1,\"index\":\"board\"}", at: board.store.newestCommit, in: board.store)
    #expect(client.sections == expected)
  }
}
