// A collection, the script it plays, and what it should show.

import Synchronization
import TestSupport
import Testing

@testable import TreeRingCollections

/// A collection, its script, and what it should show.
final class Stage: CustomStringConvertible {
  static let modes: [LoadingMode] = [
    .live, .whole, .paged(batchSize: 1), .paged(batchSize: 3), .paged(batchSize: 7),
  ]

  let source = ScriptedSource()
  let dataSource = ScriptedDataSource()
  let executor = TestExecutor()
  let clock = TestClock()
  /// What the collection's queue waits for, if the test says when that runs.
  private let deliveries: HeldDeliveries?
  let observer = MirrorObserver()
  let collection: LiveCollection<Note>
  var random: SeededGenerator
  /// Every note that a child was to be shown as.
  private(set) var everSet: Set<Note> = []
  let description: String

  init(
    _ seed: UInt64, mode: LoadingMode, order: CollectionOrder<Note> = .source, listens: Bool = true,
    holdsDeliveries: Bool = false
  ) {
    let deliveries = holdsDeliveries ? HeldDeliveries() : nil
    self.deliveries = deliveries
    random = SeededGenerator(seed: seed)
    description = "seed \(seed), \(mode)"
    collection = LiveCollection(
      source: source, dataSource: dataSource,
      options: CollectionOptions(
        order: order, mode: mode, listens: listens, prepareTimeout: .seconds(10), clock: clock,
        executor: executor, deliver: { deliveries.map { $0.hold }?($0) ?? $0() }))
    collection.add(observer)
  }

  // MARK: - The source

  /// Sets a child to a place, and to a new number; some data is to be skipped.
  func set(_ key: Int, at place: Double? = nil, adverse: Bool = true) {
    let place = place ?? Double(Int.random(in: 0..<30, using: &random))
    var data = NoteData(number: key * 1000 + Int.random(in: 0..<1000, using: &random))
    if adverse {
      data.isSkipped = Int.random(in: 0..<8, using: &random) == 0
    }
    if !data.isSkipped { everSet.insert(data.note) }
    source.truth.set(data, at: ChildPosition(order: .number(place), key: "\(key)"))
  }

  /// The notes of all children, in the source's order.
  func expected() async throws -> [Note] {
    try await source.truth.page(PageRequest(direction: .forward, cursor: nil, limit: nil)).children
      .filter { !$0.data.isSkipped }.map(\.data.note)
  }

  // MARK: - The script

  /// What may go wrong in a script.
  struct Adversities: OptionSet {
    let rawValue: Int
    /// Loads are cancelled.
    static let cancels = Adversities(rawValue: 1)
    /// Prepares take longer than they may.
    static let timeouts = Adversities(rawValue: 2)
    /// Pages and prepares fail.
    static let failures = Adversities(rawValue: 4)
    /// The collection is stopped.
    static let stops = Adversities(rawValue: 8)
    /// The listener fails.
    static let ends = Adversities(rawValue: 16)

    /// Any of them by the seed, so that each is tried alone and with others.
    init(seed: UInt64) {
      self = []
      if seed % 3 == 0 { insert(.cancels) }
      if seed % 5 == 0 { insert(.timeouts) }
      if seed % 7 == 0 { insert(.stops) }
      if seed % 11 == 0 { insert(.ends) }
    }
    init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// Sixty times something, in both directions: children come, change and go, loads begin, waits end.
  ///
  /// - Parameter keys: The children that are edited; none if it is empty.
  func play(editing keys: Range<Int>, _ adversities: Adversities) {
    for _ in 0..<60 {
      switch Int.random(in: 0..<14, using: &random) {
      case 0, 1: if let key = keys.randomElement(using: &random) { set(key) }
      case 2: if let key = keys.randomElement(using: &random) { source.truth.remove("\(key)") }
      case 3: startLoading()
      case 4 where adversities.contains(.cancels): collection.cancelLoad()
      case 5 where adversities.contains(.timeouts): clock.advance(by: .seconds(6))
      case 6 where adversities.contains(.stops): collection.stop()
      case 7 where adversities.contains(.ends): source.say(.failed(ScriptFailure()))
      default: adversities.contains(.failures) ? stumble() : step()
      }
      #expect(observer.state.withLock(\.list) == collection.shown, "\(self)")
    }
  }

  private func startLoading() {
    collection.startLoading(Bool.random(using: &random) ? .forward : .backward)
  }

  func run() {
    executor.run(using: &random)
    while deliveries?.run() == true { executor.run(using: &random) }
  }

  /// Runs what can be run, the collection's queue maybe later.
  private func runOn() {
    if deliveries == nil || Bool.random(using: &random) {
      run()
    } else {
      executor.run(using: &random)
    }
  }

  /// Lets one wait end.
  func step() {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: _ = source.pages.open(.success(()), using: &random)
    case 1: _ = source.letEventThrough()
    default: _ = dataSource.prepares.open(.success(()), using: &random)
    }
    runOn()
  }

  /// Lets one wait end, or fail.
  private func stumble() {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: _ = source.pages.open(.failure(ScriptFailure()), using: &random)
    case 1: _ = dataSource.prepares.open(.failure(ScriptFailure()), using: &random)
    default: step()
    }
    runOn()
  }

  /// Ends every wait but those of prepares, which go on for longer than anybody waits.
  func letPreparesTimeOut() {
    letAllButPreparesEnd()
    clock.advance(by: .seconds(11))
    run()
  }

  /// Ends every wait but those of prepares.
  func letAllButPreparesEnd() {
    run()
    var isBusy = true
    while isBusy {
      isBusy = source.pages.open(.success(()), using: &random)
      while source.letEventThrough() { isBusy = true }
      run()
    }
  }

  /// Ends every wait there is and will be.
  func settle() {
    run()
    var isBusy = true
    while isBusy {
      isBusy = source.pages.open(.success(()), using: &random)
      while source.letEventThrough() { isBusy = true }
      run()
      while dataSource.prepares.open(.success(()), using: &random) {
        isBusy = true
        run()
      }
    }
  }

  /// Settles, and loads until there is nothing more in either direction.
  func settleAtTheEnd() {
    settle()
    for direction in [LoadDirection.forward, .backward] {
      var loads = 0
      while collection.startLoading(direction) != .atEnd, loads < 60 {
        settle()
        loads += 1
      }
      #expect(loads < 60, "there is no end, \(self)")
    }
  }

  // MARK: - What was told

  /// What loads came to.
  var outcomes: [LoadOutcome] { observer.state.withLock(\.outcomes) }
  /// What the last load came to.
  var outcome: LoadOutcome? { outcomes.last }
  /// The keys of what could not be prepared.
  var failedKeys: Set<String> { Set(observer.state.withLock { $0.failures.compactMap(\.key) }) }
  /// The identifiers shown.
  var shownKeys: [String] { collection.shown.map(\.identifier) }

  /// Checks that what was told of amounts to what is shown, each thing once, and that no load is stuck.
  func check(sourceLocation: SourceLocation = #_sourceLocation) {
    let mirror = observer.state.withLock(\.self)
    #expect(mirror.list == collection.shown, "\(self)", sourceLocation: sourceLocation)
    #expect(mirror.flaws.isEmpty, "\(self)", sourceLocation: sourceLocation)
    let loads = mirror.events.filter { $0 == "start" || $0 == "end" }
    #expect(
      loads.enumerated().allSatisfy { $1 == ($0 % 2 == 0 ? "start" : "end") }, "\(self)",
      sourceLocation: sourceLocation)
    #expect(
      loads.count % 2 == 0, "a load is stuck, \(self)", sourceLocation: sourceLocation)
  }

  /// Ends it all.
  func end() {
    collection.stop()
    settle()
  }
}
