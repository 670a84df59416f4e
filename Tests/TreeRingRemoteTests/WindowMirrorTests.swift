import TestSupport
import Testing
import TreeRing
import TreeRingLive
import TreeRingLog

@testable import TreeRingMappings
@testable import TreeRingRemote

@Suite("A window at its client, without tasks")
@MainActor
struct WindowMirrorTests {
  /// A window, its connection, and readers that read at different times.
  struct Client {
    /// A reader, with a local observer that advances to the same commits.
    struct Reader {
      var observer = ListedObserver()
      var changed: [RowReference: Parts] = [:]
      var local: MappingObserver
      let list: DrivenList
    }

    var mirror: WindowMirror
    var session: LiveSession?
    var readers: [Reader] = []

    mutating func connect(_ service: LiveService) throws {
      let session = try service.session(for: LiveAccess(.read), messages: mirror.begin())
      self.session = session
    }

    /// Takes messages, at most so many.
    mutating func read(_ limit: Int = .max) throws -> Int {
      var count = 0
      while count < limit, let message = session?.nextMessage() {
        count += 1
        switch try mirror.take(message) {
        case .shown(let changed):
          for index in readers.indices {
            readers[index].changed.merge(changed) { $0.union($1) }
          }
        case .nothing: break
        case .dropped(let error), .wait(let error): throw error
        }
      }
      return count
    }
  }

  /// Lets a reader take what has changed; its view and a local observer of the store agree.
  private func deliver(
    _ client: inout Client, _ number: Int, _ board: RemoteBoard, _ comment: Comment
  ) throws -> Int {
    guard let commit = client.mirror.commit else { return 0 }
    var reader = client.readers[number]
    let isFirst = reader.local.commit == nil
    let change = try reader.observer.advance(
      to: client.mirror.rows, of: "board", at: commit, changed: reader.changed, limit: .max)
    reader.changed = [:]
    let snapshot = try board.store.snapshot(at: .commit(commit))
    let local = try reader.local.advance(to: snapshot, mappings: client.mirror.request.mappings)
    reader.list.apply(change)
    client.readers[number] = reader
    #expect(change.isReset == isFirst, comment)
    #expect(Listing(change.after) == (try Listing(local.after, in: snapshot)), comment)
    #expect(change.changeset.count == local.changeset.count, comment)
    #expect(reader.list.displayed == change.after.sections.map { Array($0) }, comment)
    #expect(reader.list.refusals.isEmpty && reader.list.reloads == 1, comment)
    return change.changeset.count
  }

  @Test("Commits, moments, ranges and lost connections: every change is that of a local store")
  func model() throws {
    var (commits, operations, messages) = (0, 0, 0)
    for seed in seeds(1...40) {
      var board = try RemoteBoard(seed: seed)
      for _ in 0..<5 { try board.commit() }
      var limits = LiveLimits()
      // Small limits, so that windows come in pieces and large changes as whole windows.
      if seed % 3 == 0 { (limits.pieceByteCount, limits.operations) = (300, 6) }
      if seed % 3 == 1 { limits.changeByteCount = 900 }
      let service = LiveService(board.store, limits: limits)
      let request = board.request()
      var client = Client(mirror: WindowMirror(request))
      for _ in 0..<2 {
        client.readers.append(
          Client.Reader(
            local: board.store.observer(of: request.mappings, limit: .max), list: DrivenList()))
      }
      try client.connect(service)
      for turn in 0..<80 {
        let comment: Comment = "seed \(seed), turn \(turn)"
        let newest = board.store.newestCommit
        switch board.below(12) {
        case 0:
          client.mirror.seek(.commit(1 + UInt64(board.below(Int(newest)))))
        case 1: client.mirror.seek(nil)
        case 2:
          let group = RemoteBoard.groups[board.below(4)]
          if client.mirror.request.range(of: group) != nil, board.chance(2) {
            let rows = board.below(9) - 4
            try client.mirror.change(RangeChange(.extend(by: rows), of: group))
          } else {
            let range = board.chance(4) ? nil : board.range()
            try client.mirror.change(RangeChange(.set(range), of: group))
          }
        case 3: client.session = nil
        default:
          for _ in 0...board.below(4) {
            try board.commit()
            commits += 1
          }
        }
        if client.session == nil || client.mirror.wantsMore { try client.connect(service) }
        // Sometimes the connection is lost between two messages.
        if board.chance(4) {
          messages += try client.read(board.below(3))
          client.session = nil
          try client.connect(service)
        }
        messages += try client.read()
        operations += try deliver(&client, 0, board, comment)
        if board.chance(6) { operations += try deliver(&client, 1, board, comment) }
        #expect(!client.mirror.wantsMore && !client.mirror.awaitsAnswer, comment)
      }
    }
    print("remote windows: \(commits) commits, \(messages) messages, \(operations) operations")
  }

  @Test("Flexible ranges follow their rows, grow, and resume where they were")
  func flexible() throws {
    for seed in seeds(1...25) {
      var board = try RemoteBoard(seed: seed)
      for _ in 0..<10 { try board.commit() }
      let service = LiveService(board.store)
      var request = RemoteRequest("board", groups: ["a", "b"])
      request.ranges["a"] = .flexible(length: 3, offset: 1, min: 2, max: 9, growing: .bothSides)
      request.ranges["b"] = .flexible(length: 2, pin: .end)
      var mirror = WindowMirror(request)
      var session = try service.session(for: LiveAccess(.read), messages: mirror.begin())
      var other = board.store.observer(of: request.mappings, limit: .max)
      // A window resumes at its last message, so the local observer does, too.
      var atMessage = other
      for turn in 0..<40 {
        var edits: [RangeChange] = []
        if turn > 0, board.chance(4) {
          edits = [RangeChange(.extend(by: 2), of: "a")]
          try mirror.change(edits[0])
          session = try service.session(for: LiveAccess(.read), messages: mirror.begin())
          other = atMessage
        } else {
          try board.commit()
        }
        var hasMessage = false
        while let message = session.nextMessage() {
          _ = try mirror.take(message)
          hasMessage = true
        }
        let local = try other.advance(changing: edits).after
        if hasMessage { atMessage = other }
        var observer = ListedObserver()
        let shown = try observer.advance(
          to: mirror.rows, of: "board", at: mirror.commit ?? 0, changed: [:], limit: .max
        ).after
        #expect(
          shown.sections.map { Array($0) } == local.sections.map { Array($0) },
          "seed \(seed), turn \(turn)")
        if board.chance(5) {
          session = try service.session(for: LiveAccess(.read), messages: mirror.begin())
          other = atMessage
        }
      }
    }
  }

  @Test("Totals are those of the sections; a section that goes takes its own along")
  func totals() throws {
    var request = RemoteRequest("board")
    request.givesTotals = true
    var mirror = WindowMirror(request)
    _ = mirror.begin()
    let start = #"{"id":1,"commit":1,"position":"p","reset":"firstState","sections":[["g0",[]]],"#
    _ = try mirror.take(Array((start + #""totals":[["g0",0,7,1.5]]}"#).utf8))
    #expect(mirror.totals.map(\.count) == [7])
    #expect(mirror.totals.map(\.sum?.description) == ["1.5"])
    for number in 1...40 {
      let sections = #"{"remove":["g\#(number - 1)"],"place":[["g\#(number)",null,[]]]}"#
      let text =
        #"{"id":1,"from":\#(number),"commit":\#(number + 1),"position":"p","sections":"# + sections
        + #","totals":[["g\#(number)",\#(number),50,null]]}"#
      _ = try mirror.take(Array(text.utf8))
      #expect(mirror.totals.map(\.group) == [GroupName("g\(number)")])
      #expect(mirror.totals.map(\.first) == [number] && mirror.totals[0].sum == nil)
      #expect(mirror.totalsByGroup.count == 1)
    }
    for wrong in [
      "[0,0]", "[\"a\",-1,0]", "[\"a\",0,1e3]", "[\"a\",0,1,\"2\"]", "[\"a\",0,1,1e400]",
    ] {
      let text = #"{"id":1,"from":41,"commit":42,"position":"p","totals":[\#(wrong)]}"#
      #expect(throws: RemoteError.self, "\(wrong)") { try mirror.take(Array(text.utf8)) }
    }
  }

  @Test("Labels have room for any insertions, and a row's place is found by its label")
  func labels() throws {
    for seed in seeds(1...20) {
      var random = SeededGenerator(seed: seed)
      var group = ListedGroup()
      var model: [RowReference] = []
      for number in 0..<3000 {
        let row = RowReference(bucket: 0, key: Array("\(number)".utf8))
        // Even seeds insert at one place alone, which takes up the room there.
        let anywhere = Int.random(in: 0...model.count, using: &random)
        let place = seed % 2 == 0 ? min(model.count, 1) : anywhere
        _ = group.insert(row, at: place)
        model.insert(row, at: place)
        if Int.random(in: 0..<4, using: &random) == 0 {
          let gone = Int.random(in: 0..<model.count, using: &random)
          group.remove(at: gone)
          model.remove(at: gone)
        }
      }
      let entries = Array(group.entries)
      #expect(entries.map(\.row) == model, "seed \(seed)")
      #expect(group.count == model.count)
      #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.label < $1.label })
      for (position, entry) in entries.enumerated() {
        #expect(group.rank(of: entry.label) == position)
        #expect(group[position].row == entry.row)
        #expect(try group.rank(of: ListedGroup.order(entry.label)) == position)
      }
    }
  }
}
