// Rows that change while a page is being read: every small interleaving of the page's request,
// changes of the source, the listener's events for them, and the page's arrival.

import TestSupport
import Testing

@testable import TreeRingCollections

/// A source of some children, two of them loaded and covered by the listener, and a ledger that
/// loads the others.
private struct PageRace {
  private var ledger = LoaderLedger<NoteData, NoteModel>()
  private var listener = 0
  private var range = PositionRange()
  /// The children of the source, and the shown ones.
  private(set) var source: [Int: Double] = [1: 1, 2: 2, 3: 3, 4: 4]
  private(set) var shown: Set<Int> = []
  /// Children that were shown and removed, and that reappeared although the source no longer had
  /// them.
  private(set) var ghosts: [Int] = []
  private var gone: Set<Int> = []
  private var events: [SourceEvent<NoteData>] = []
  private var load = 0

  init() {
    load(page: Array(children(in: PositionRange()).prefix(2)), hasMore: true)
    listener = ledger.beginListening() ?? 0
    ask()
  }

  private static func child(_ number: Int, at place: Double) -> SourceChild<NoteData> {
    SourceChild(
      NoteData(number: number * 1000),
      at: ChildPosition(order: .number(place), key: "\(number)"))
  }

  func children(in range: PositionRange) -> [SourceChild<NoteData>] {
    source.map { Self.child($0, at: $1) }.filter { range.contains($0.position) }
      .sorted { $0.position < $1.position }
  }

  /// The contents of a page read now.
  var page: [SourceChild<NoteData>] {
    children(in: PositionRange()).filter { child in range.last.map { $0 < child.position } ?? true }
  }

  private mutating func ask() {
    load = ledger.begin(.forward, mode: .paged(batchSize: 2), listens: true, whenEnded: nil).1
    _ = ledger.start(load: load, mode: .paged(batchSize: 2))
  }

  private mutating func load(page: [SourceChild<NoteData>], hasMore: Bool) {
    if load == 0 { ask() }
    for child in ledger.take(SourcePage(page, hasMore: hasMore), load: load) {
      prepare(child, from: .page(load: load))
    }
    guard let finished = ledger.finishIfSettled(listens: true) else { return }
    apply(finished.edits)
    range = finished.range ?? range
  }

  /// Moves or removes a child; a listener will get the event.
  mutating func change(_ number: Int, to place: Double?) {
    let before = source[number].map { Self.child(number, at: $0) }
    source[number] = place
    let after = place.map { Self.child(number, at: $0) }
    if let after, range.contains(after.position) {
      events.append(.set(after))
    } else if let before, range.contains(before.position) {
      events.append(.removed(key: before.key))
    }
  }

  /// Delivers the listener's events to the ledger.
  mutating func deliver() {
    for event in events {
      switch event {
      case .set(let child): prepare(child, from: .listener(listener))
      case .removed(let key): remove(key)
      case .state, .failed: break
      }
    }
    events = []
  }

  /// Delivers the page. The state of the newly covered range follows the listener's earlier events.
  mutating func arrive(_ page: [SourceChild<NoteData>]) {
    load(page: page, hasMore: false)
    deliver()
    let stated = children(in: range)
    for child in stated where !ledger.isCurrent(child) { prepare(child, from: .listener(listener)) }
    for key in ledger.missing(from: stated, in: range) { remove(key) }
  }

  private mutating func prepare(_ child: SourceChild<NoteData>, from origin: ChildOrigin) {
    guard let token = ledger.supersede(child, from: origin)?.token else { return }
    if let settled = ledger.settle(child.key, token, .success(child.data.note)) {
      apply(settled.edits)
    }
  }

  private mutating func remove(_ key: String) {
    if let removed = ledger.remove(key, from: .listener(listener)) { apply(removed.edits) }
  }

  private mutating func apply(_ edits: [ModelEdit<NoteModel>]) {
    for edit in edits {
      switch edit {
      case .set(let note, _):
        guard let number = Int(note.identifier) else { continue }
        if shown.insert(number).inserted, gone.contains(number), source[number] == nil {
          ghosts.append(number)
        }
      case .remove(let identifier):
        guard let number = Int(identifier) else { continue }
        shown.remove(number)
        gone.insert(number)
      case .update: break
      }
    }
  }
}

@Suite struct PageArrivalTests {
  /// The possible changes of a page's child: into the loaded range, to another place in the page,
  /// removed.
  private static let changes: [(child: Int, place: Double?)] = [
    (3, 1.5), (3, 3.5), (3, nil), (4, 0.5), (4, nil), (1, 3.2),
  ]

  /// Up to three changes in a sweep, otherwise up to two.
  @Test func noRemovedRowReturns() {
    var scripts: [[(child: Int, place: Double?)]] = [[]]
    var races = 0
    for _ in 0..<(isSweep ? 3 : 2) {
      scripts += scripts.flatMap { script in Self.changes.map { script + [$0] } }
    }
    for script in scripts {
      for read in 0...script.count {
        for arrival in read...script.count {
          for deliveries in 0..<(1 << script.count) {
            races += 1
            Self.run(script, read: read, arrival: arrival, deliveries: deliveries)
          }
        }
      }
    }
    #expect(races > 800)
  }

  /// - Parameters:
  ///   - read: the number of changes before the page is read.
  ///   - arrival: the number of changes before it arrives.
  ///   - deliveries: the changes after which the listener's events are delivered, as bits.
  private static func run(
    _ script: [(child: Int, place: Double?)], read: Int, arrival: Int, deliveries: Int
  ) {
    var race = PageRace()
    var page = race.page
    for index in 0...script.count {
      if index == read { page = race.page }
      if index == arrival { race.arrive(page) }
      guard index < script.count else { break }
      // A removed child stays removed.
      if race.source[script[index].child] != nil {
        race.change(script[index].child, to: script[index].place)
      }
      if deliveries & (1 << index) != 0 { race.deliver() }
    }
    race.deliver()
    let label = "\(script), read \(read), arrives \(arrival), deliveries \(deliveries)"
    if !race.ghosts.isEmpty { Issue.record("\(race.ghosts) came again: \(label)") }
    if race.shown != Set(race.source.keys) {
      Issue.record("\(race.shown) shown, not \(race.source.keys.sorted()): \(label)")
    }
  }
}
