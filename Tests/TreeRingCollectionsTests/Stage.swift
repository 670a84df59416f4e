// A collection, its script, and its expected contents.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections

/// A collection, its script, and its expected contents.
final class Stage: CustomStringConvertible {
  static let modes: [LoadingMode] = [
    .live, .whole, .paged(batchSize: 1), .paged(batchSize: 3), .paged(batchSize: 7),
  ]

  let source = ScriptedSource()
  let dataSource = ScriptedDataSource()
  let executor = TestExecutor()
  let clock = TestClock()
  /// The pending work of the collection's queue, if the test decides when that runs.
  private let deliveries: HeldDeliveries?
  let observer = MirrorObserver()
  let collection: LiveCollection<NoteModel>
  var random: SeededGenerator
  /// Every note expected for a child so far.
  private(set) var everSet: Set<NoteModel> = []
  let description: String

  init(
    _ seed: UInt64, mode: LoadingMode, order: CollectionOrder<NoteModel> = .source,
    listens: Bool = true,
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

  /// Sets a child to a place and to a new number; some data is skipped.
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
  func expected() async throws -> [NoteModel] {
    try await source.truth.page(PageRequest(direction: .forward, cursor: nil, limit: nil)).children
      .filter { !$0.data.isSkipped }.map(\.data.note)
  }

  // MARK: - The script

  /// The things that may go wrong in a script.
  struct Adversities: OptionSet {
    let rawValue: Int
    /// Loads are cancelled.
    static let cancels = Adversities(rawValue: 1)
    /// Prepares exceed their time limit.
    static let timeouts = Adversities(rawValue: 2)
    /// Pages and prepares fail.
    static let failures = Adversities(rawValue: 4)
    /// The collection is stopped.
    static let stops = Adversities(rawValue: 8)
    /// The listener fails.
    static let ends = Adversities(rawValue: 16)

    /// A random selection by the seed, so that each adversity occurs alone and with others.
    init(seed: UInt64) {
      self = []
      if seed % 3 == 0 { insert(.cancels) }
      if seed % 5 == 0 { insert(.timeouts) }
      if seed % 7 == 0 { insert(.stops) }
      if seed % 11 == 0 { insert(.ends) }
    }
    init(rawValue: Int) { self.rawValue = rawValue }
  }

  /// Makes sixty random steps, in both directions: children are inserted, changed and removed,
  /// loads begin, waits end.
  ///
  /// - Parameter keys: the children to edit; none if it is empty.
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

  /// Runs all ready jobs; the collection's queue may run later.
  private func runOn() {
    if deliveries == nil || Bool.random(using: &random) {
      run()
    } else {
      executor.run(using: &random)
    }
  }

  /// Ends one wait.
  func step() {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: _ = source.pages.open(.success(()), using: &random)
    case 1: _ = source.letEventThrough()
    default: _ = dataSource.prepares.open(.success(()), using: &random)
    }
    runOn()
  }

  /// Ends one wait, or makes one fail.
  private func stumble() {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: _ = source.pages.open(.failure(ScriptFailure()), using: &random)
    case 1: _ = dataSource.prepares.open(.failure(ScriptFailure()), using: &random)
    default: step()
    }
    runOn()
  }

  /// Ends every wait except those of prepares, which exceed their time limit.
  func letPreparesTimeOut() {
    letAllButPreparesEnd()
    clock.advance(by: .seconds(11))
    run()
  }

  /// Ends every wait except those of prepares.
  func letAllButPreparesEnd() {
    run()
    var isBusy = true
    while isBusy {
      isBusy = source.pages.open(.success(()), using: &random)
      while source.letEventThrough() { isBusy = true }
      run()
    }
  }

  /// Ends all waits, including those that begin as a result.
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

  /// Settles, and loads to the end in both directions.
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

  // MARK: - Notifications

  /// The outcomes of all loads.
  var outcomes: [LoadOutcome] { observer.state.withLock(\.outcomes) }
  /// The outcome of the last load.
  var outcome: LoadOutcome? { outcomes.last }
  /// The keys of children that could not be prepared.
  var failedKeys: Set<String> { Set(observer.state.withLock { $0.failures.compactMap(\.key) }) }
  /// The identifiers shown.
  var shownKeys: [String] { collection.shown.map(\.identifier) }

  /// Checks that the observed changes add up to the shown rows, each change once, and that no load
  /// is stuck.
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

  /// Stops the collection and ends all waits.
  func end() {
    collection.stop()
    settle()
  }
}
