// A collection, the script it plays, and what it should show.

import Synchronization
import TestSupport

@testable import TreeRingCollections

/// A collection, its script, and what it should show.
final class Stage {
  let source = ScriptedSource()
  let dataSource = ScriptedDataSource()
  let executor = TestExecutor()
  let clock = TestClock()
  let observer = MirrorObserver()
  let collection: LiveCollection<Note>
  var random: SeededGenerator

  init(
    _ seed: UInt64, mode: LoadingMode, order: CollectionOrder<Note> = .source, listens: Bool = true
  ) {
    random = SeededGenerator(seed: seed)
    collection = LiveCollection(
      source: source, dataSource: dataSource,
      options: CollectionOptions(
        order: order, mode: mode, listens: listens, prepareTimeout: .seconds(10), clock: clock,
        executor: executor))
    collection.add(observer)
  }

  /// Sets a child to a new number and place; some data is to be skipped.
  func set(_ key: Int, adverse: Bool = true) {
    let place = Double(Int.random(in: 0..<30, using: &random))
    var data = NoteData(number: key * 1000 + Int.random(in: 0..<1000, using: &random))
    if adverse {
      data.isSkipped = Int.random(in: 0..<8, using: &random) == 0
    }
    source.truth.set(data, at: ChildPosition(order: .number(place), key: "\(key)"))
  }

  func run() { executor.run(using: &random) }

  /// Lets one wait end.
  func step() {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: _ = source.pages.open(.success(()), using: &random)
    case 1: _ = source.letEventThrough()
    default: _ = dataSource.prepares.open(.success(()), using: &random)
    }
    run()
  }

  /// Lets one wait end, or fail.
  func stumble() {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: _ = source.pages.open(.failure(ScriptFailure()), using: &random)
    case 1: _ = dataSource.prepares.open(.failure(ScriptFailure()), using: &random)
    default: step()
    }
    run()
  }

  /// Ends every wait but those of prepares, which go on for longer than anybody waits.
  func letPreparesTimeOut() {
    var isBusy = true
    while isBusy {
      isBusy = source.pages.open(.success(()), using: &random)
      while source.letEventThrough() { isBusy = true }
      run()
    }
    clock.advance(by: .seconds(11))
    run()
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

  /// The notes of all children, in the source's order.
  func expected() async throws -> [Note] {
    try await source.truth.page(PageRequest(direction: .forward, cursor: nil, limit: nil)).children
      .filter { !$0.data.isSkipped }
      .map {
        Note(identifier: $0.key, text: nil, number: $0.data.number % 1000)
      }
  }
}
