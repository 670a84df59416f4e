// The checks of reads: any number, sizes of answers, waiting.

internal import Foundation
internal import TreeRingPlatform
internal import TreeRingReplication

extension SharedLogChecks {
  func reading(_ trial: Trial) throws {
    try trial.append(trial.entries(25))
    try trial.append([[], trial.bytes(20_000), []] + trial.entries(20))
    let count = trial.model.count
    for round in 0..<120 where !trial.isHopeless {
      // Neighbours too: a log may keep its place between calls that continue.
      let first = round < count ? round + 1 : trial.number(1...count)
      let byteLimit = [0, 1, 500, 3000, 100_000][trial.number(0...4)]
      let log = trial.logs[trial.number(0...1)]
      let read = try log.read(from: UInt64(first), byteLimit: byteLimit, within: patience)
      let what = "a read from \(first), \(byteLimit) bytes,"
      trial.expect(!read.isEmpty, "\(what) is empty")
      trial.expect(
        read.elementsEqual(trial.model[(first - 1)...].prefix(read.count)),
        "\(what) gives other entries than those that were appended")
      let whole = read.dropLast().reduce(0) { $0 + $1.count }
      trial.expect(whole <= byteLimit, "\(what) goes on after \(whole) bytes")
    }
    try withoutWaiting(trial)
    // A number after the end is one to come.
    let next = UInt64(count) + 1
    for distance in [0, 1, 3] as [UInt64] {
      let read = try trial.log.read(from: next + distance, byteLimit: 1, within: .zero)
      trial.expect(read.isEmpty, "a read \(distance) beyond the end gives an entry")
    }
    try trial.append(trial.entries(4))
    let read = try trial.log.read(from: next + 3, byteLimit: 1000, within: patience)
    trial.expect(read == [trial.model[count + 3]], "a read gives entries before its first one")
    try trial.compare()
  }

  /// Reads that do not wait come to the end, if they are repeated.
  private func withoutWaiting(_ trial: Trial) throws {
    for log in trial.logs {
      var next = 1
      let deadline = ContinuousClock.now + patience
      while next <= trial.model.count, ContinuousClock.now < deadline {
        let read = try log.read(from: UInt64(next), byteLimit: 2000, within: .zero)
        trial.expect(
          read.elementsEqual(trial.model[(next - 1)...].prefix(read.count)),
          "a read from \(next) that does not wait gives other entries")
        next += read.count
        if read.isEmpty { Platform.sleep(.milliseconds(5)) }
      }
      trial.expect(
        next == trial.model.count + 1, "reads that do not wait end before entry \(next)")
    }
  }

  func waiting(_ trial: Trial) throws {
    let clock = ContinuousClock()
    var read: [[UInt8]]?
    for milliseconds in [0, 30, 300] {
      let limit = Duration.milliseconds(milliseconds)
      let time = try clock.measure {
        read = try trial.log.read(from: 1, byteLimit: 1, within: limit)
      }
      trial.expect(read == [], "a read of an empty log gives an entry")
      trial.expect(time > limit - .milliseconds(5), "a read of \(limit) ended after \(time)")
      trial.expect(time < limit + patience, "a read of \(limit) took \(time)")
    }
    let patience = patience
    for round in 1...4 where !trial.isHopeless {
      // Each waits for the next entry, one also for the one after it.
      let entries = trial.entries(2)
      let logs = trial.logs
      let found = Mutex<[String]>([])
      let readers = threads(3) { index in
        let wanted = index == 2 ? 2 * round : 2 * round - 1
        do throws(SharedLogError) {
          let start = ContinuousClock.now
          let read = try logs[index].read(from: UInt64(wanted), byteLimit: 1, within: patience)
          if read.first != entries[index == 2 ? 1 : 0] {
            found.withLock { $0.append("a waiting read does not give entry \(wanted).") }
          }
          if ContinuousClock.now - start >= patience {
            found.withLock { $0.append("a waiting read gives entry \(wanted) too late.") }
          }
        } catch {
          found.withLock { $0.append("a waiting read throws: \(error)") }
        }
      }
      Platform.sleep(.milliseconds([0, 2, 50, 200][round - 1]))
      try trial.append([entries[0]], by: 2)
      Platform.sleep(.milliseconds([0, 20][round % 2]))
      try trial.append([entries[1]], by: round % 3)
      readers.wait()
      for problem in found.withLock(\.self) { trial.report(problem) }
    }
    try trial.compare()
  }

  /// Runs `body` with each number below `count` on a thread of its own.
  func threads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> DispatchGroup {
    let group = DispatchGroup()
    for number in 0..<count {
      group.enter()
      Thread.detachNewThread {
        body(number)
        group.leave()
      }
    }
    return group
  }
}
