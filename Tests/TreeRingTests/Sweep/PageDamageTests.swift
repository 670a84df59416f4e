// The log can rebuild the page file. Whatever damages the file while the store is closed, the store
// gives the same answers. It does so at once, or after a typed error and another opening if the
// damage shows only when a page is read.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Damage of the page file")
struct PageDamageTests {
  private static let path = "store/pages"

  /// A store that has been used and closed, or abandoned in the middle of its work.
  private static func used(seed: UInt64, isClosed: Bool) throws -> (
    SweepWorkload, SimulatedFileSystem
  ) {
    let workload = try SweepWorkload.mixed(seed: seed)
    let moments = try CrashSweepTests.moments(of: workload, seed: seed)
    let moment = moments[isClosed ? moments.count - 1 : moments.count * 3 / 4]
    return (workload, moment.disk.afterCrash(seed: seed))
  }

  /// Opens a store and compares everything; a second time if a read found a damaged page. Returns
  /// the number of openings.
  @discardableResult
  private static func answers(
    _ disk: SimulatedFileSystem, _ workload: SweepWorkload, seed: UInt64, past: Int? = 3
  ) throws -> Int {
    for attempt in 1...2 {
      var random = SeededGenerator(seed: seed)
      do {
        let store = try workload.open(disk)
        do {
          try workload.check(store, past: past, &random)
          try store.close()
          return attempt
        } catch let error as TreeRingError where error.code == .corruption && attempt == 1 {
          try? store.close()
        }
      }
    }
    return 2
  }

  @Test(
    "A missing, empty, cut or garbage page file is rebuilt", arguments: [true, false])
  func whole(isClosed: Bool) throws {
    let (workload, disk) = try Self.used(seed: 1, isClosed: isClosed)
    let bytes = try #require(disk.contents(of: Self.path), "the store has a page file")
    var random = SeededGenerator(seed: 1)
    let garbage = (0..<bytes.count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    var cases: [(String, [UInt8]?)] = [
      ("missing", nil), ("empty", []), ("garbage", garbage),
      ("zeros", [UInt8](repeating: 0, count: bytes.count)),
    ]
    for size in [1, 100, 4095, 4096, 8191, 8192, 12_288] where size < bytes.count {
      cases.append(("cut at \(size)", Array(bytes[..<size])))
    }
    for _ in 0..<8 {
      let size = Int.random(in: 0..<bytes.count, using: &random)
      cases.append(("cut at \(size)", Array(bytes[..<size])))
      let start = Int.random(in: 0..<bytes.count, using: &random)
      let end = min(bytes.count, start + Int.random(in: 1...20_000, using: &random))
      var holed = bytes
      holed.replaceSubrange(start..<end, with: garbage[start..<end])
      cases.append(("garbage in \(start)..<\(end)", holed))
    }
    for (index, (label, contents)) in cases.enumerated() {
      let found = disk.afterKill()
      found.replace(Self.path, with: contents)
      do { try Self.answers(found, workload, seed: UInt64(index)) } catch {
        Issue.record("closed: \(isClosed), \(label): \(error)")
      }
    }
  }

  @Test("A flipped bit anywhere in the page file changes no result", arguments: seeds(1...1))
  func flips(seed: UInt64) throws {
    let (workload, disk) = try Self.used(seed: seed, isClosed: true)
    let size = try #require(disk.contents(of: Self.path)?.count)
    var reopened = 0
    for flip in 0..<UInt64(60 * SweepTally.scale) {
      let found = disk.afterKill()
      // Half of them in the metas.
      found.flipBit(Self.path, in: 0..<(flip % 2 == 0 ? min(size, 8192) : size), seed: flip)
      do {
        if try Self.answers(found, workload, seed: flip) > 1 { reopened += 1 }
      } catch { Issue.record("seed \(seed), flip \(flip): \(error)") }
    }
    print("page file: 60 flips, \(reopened) came to light after opening, seed \(seed)")
  }

  @Test("An older page file, or that of another store, changes no result")
  func stale() throws {
    let workload = try SweepWorkload.mixed(seed: 1)
    let moments = try CrashSweepTests.moments(of: workload, seed: 1)
    let last = try #require(moments.last)
    let other = try CrashSweepTests.moments(of: SweepWorkload.mixed(seed: 4), seed: 4)
    var tried = 0
    for (moments, isOwn) in [(moments, true), (other, false)] {
      for index in stride(from: 0, to: moments.count, by: 9) {
        guard let old = moments[index].disk.contents(of: Self.path) else { continue }
        let found = last.disk.afterKill()
        found.replace(Self.path, with: old)
        tried += 1
        do { try Self.answers(found, workload, seed: UInt64(index)) } catch {
          Issue.record("page file of moment \(index), own: \(isOwn): \(error)")
        }
      }
    }
    #expect(tried > 10)
  }

  @Test("A log that ends before a checkpoint's commit throws logBehindPages")
  func logBehindPages() throws {
    let workload = try SweepWorkload.mixed(seed: 2)
    let moments = try CrashSweepTests.moments(of: workload, seed: 2)
    let last = try #require(moments.last)
    let early = moments[moments.count / 3]
    let found = early.disk.afterKill()
    found.replace(Self.path, with: last.disk.contents(of: Self.path))
    do {
      _ = try workload.open(found)
      Issue.record("a log that lost commits was opened")
    } catch let error as TreeRingError { #expect(error.code == .logBehindPages, "\(error)") }
  }
}
