// The sweeper: its moments, its pauses, its batches after a crash.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Sweeping", .leavesSoundStores) struct SweeperTests {
  @Test("The sweeper deletes rows when their date has come, and begins again after an opening")
  func sweeper() throws {
    let files = MemoryFileSystem()
    var store = try Store(
      path: "store", fileSystem: files, options: StoreOptions(logger: quietLogger))
    try store.define("expiry", Expiry(on: ExpiryTests.sessions, field: "end", numbers: .seconds))
    func put(_ count: Int, in seconds: Double) throws -> ContinuousClock.Instant {
      let moment = ContinuousClock.now + .seconds(seconds)
      let end = Date().timeIntervalSince1970 + seconds
      try store.write { tx in
        for number in 0..<count {
          try tx.put(
            Array("{\"end\":\(end)}".utf8), for: Key("k\(number)"), in: ExpiryTests.sessions)
        }
      }
      return moment
    }
    func waitUntilEmpty(_ end: ContinuousClock.Instant) throws {
      while try store.snapshot().count(in: ExpiryTests.sessions) > 0, .now < end + .seconds(20) {
        Platform.sleep(.milliseconds(5))
      }
      #expect(try store.snapshot().count(in: ExpiryTests.sessions) == 0)
      #expect(ContinuousClock.now >= end - .milliseconds(20))
    }
    try waitUntilEmpty(put(3, in: 0.3))
    try waitUntilEmpty(put(1000, in: 0.2))
    // Rows that become due while the store is closed.
    let end = try put(2, in: 0.1)
    try store.close()
    Platform.sleep(.milliseconds(200))
    store = try Store(
      path: "store", fileSystem: files, options: StoreOptions(logger: quietLogger))
    try waitUntilEmpty(end)
    store.sweeper.settle()
    try store.close()
  }

  @Test("No sweep is scheduled before all closures are known that may give a date or refuse it")
  func unknownClosures() throws {
    let clock = ExpiryClock()
    let files = MemoryFileSystem()
    let sessions = ExpiryTests.sessions
    let expiry = GroupIndex(
      "expiry", on: sessions, version: 1, expires: { _ in ExpiryClock.timestamp(30).date })
    let unique = GroupIndex("unique", on: sessions, version: 1) { object in
      object.first.map { Place(in: "\($0)") }
    }.unique()
    var options = ExpiryTests.options(clock)
    options.indexes = [expiry, unique]
    var store = try Store(path: "store", fileSystem: files, options: options)
    try store.write { try $0.put([1], for: "a", in: sessions) }
    try store.close()
    // The date has come, and the indexes are there, but not their closures.
    clock.seconds = 40
    options = ExpiryTests.options(clock, sweeps: true)
    store = try Store(path: "store", fileSystem: files, options: options)
    store.sweeper.settle()
    #expect(!store.sweeper.isScheduled)
    // A commit by this process does not keep the indexes.
    clock.seconds = 20
    try store.write { try $0.put([1], for: "b", in: .bytes("others")) }
    #expect(!store.sweeper.isScheduled)
    // Nothing that is scheduled begins before the question whether it is.
    for _ in 1...7 { store.sweeper.pauseAfterFailure() }
    try store.register(expiry)
    #expect(!store.sweeper.isScheduled)
    store.sweeper.pause(after: .zero, lag: .zero)
    try store.register(unique)
    // The date is still to come: the index of dates is built, once.
    func wait(_ isThere: () throws -> Bool) rethrows -> Bool {
      let end = ContinuousClock.now + patience
      while try !isThere(), .now < end { Platform.sleep(.milliseconds(5)) }
      return try isThere()
    }
    #expect(
      wait { store.queue.visible.builtIndexes.count == 1 && store.sweeper.isScheduled })
    #expect(try ExpiryTests.keys(store.snapshot()) == ["a"])
    clock.seconds = 40
    store.considerSweep()
    #expect(try wait { try ExpiryTests.keys(store.snapshot()).isEmpty })
    try store.close()
  }

  @Test("After each failed sweep in a row the pause doubles, up to a minute")
  func pauses() {
    let sweeper = Sweeper()
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
      let before = ContinuousClock.now
      sweeper.pauseAfterFailure()
      #expect(sweeper.earliest >= before + .seconds(seconds))
      #expect(sweeper.earliest <= .now + .seconds(seconds))
    }
    sweeper.pause(after: .zero, lag: .zero)
    #expect(sweeper.earliest <= .now)
    sweeper.pauseAfterFailure()
    #expect(sweeper.earliest <= .now + .seconds(1))
  }

  @Test("The pause is nineteen times as long as the batch held writers, unless rows are late")
  func share() {
    let cases: [(held: Int, lag: Int?, pause: Int)] = [
      (10, 0, 190), (10, 300, 190), (10, 400, 100), (10, 500, 0), (10, 3000, 0), (100, 0, 500),
      (10, nil, 250), (100, nil, 1900),
    ]
    for (held, lag, pause) in cases {
      let sweeper = Sweeper()
      let before = ContinuousClock.now
      sweeper.pause(after: .milliseconds(held), lag: lag.map { .milliseconds($0) })
      #expect(sweeper.earliest >= before + .milliseconds(pause))
      #expect(sweeper.earliest <= .now + .milliseconds(pause))
    }
  }

  @Test("After a crash at any call of a sweep the store holds whole batches, and sweeping goes on")
  func crashes() throws {
    let clock = ExpiryClock()
    let disk = SimulatedFileSystem(seed: 7)
    let count = 30
    let store = try Store(path: "store", fileSystem: disk, options: ExpiryTests.options(clock))
    try store.define("expiry", ExpiryTests.rule())
    try store.write { tx in
      for number in 0..<count {
        try ExpiryTests.put(tx, "k\(100 + number)", end: Int64(number + 1))
      }
    }
    clock.seconds = 100
    let moments = Mutex<[SimulatedFileSystem]>([])
    disk.observe { _, _, disk in moments.withLock { $0.append(disk) } }
    while try store.sweep(limit: 7) > 0 {}
    disk.observe(nil)
    try store.close()
    let states = moments.withLock { $0 }
    #expect(states.count > 4)
    for (number, state) in states.enumerated() {
      let found = state.afterCrash(seed: UInt64(number))
      let again = try Store(path: "store", fileSystem: found, options: ExpiryTests.options(clock))
      let left = try again.snapshot().count(in: ExpiryTests.sessions)
      #expect([30, 23, 16, 9, 2, 0].contains(left), "moment \(number)")
      #expect(
        try ExpiryTests.keys(again.snapshot()) == (100..<130).suffix(left).map { "k\($0)" },
        "moment \(number)")
      while try again.sweep(limit: 7) > 0 {}
      #expect(try ExpiryTests.keys(again.snapshot()) == [], "moment \(number)")
      #expect(try again.checkInvariants() == [], "moment \(number)")
      try again.close()
    }
  }
}
