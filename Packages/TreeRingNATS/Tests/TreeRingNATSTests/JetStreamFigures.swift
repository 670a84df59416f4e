// The figures of the README, by Tools/test-nats --measure.

import Foundation
import Testing
import TreeRingNATS
import TreeRingReplication

private let isMeasuring = ProcessInfo.processInfo.environment["TREERING_NATS_MEASURE"] != nil

extension NATSTests {
  @Suite(.enabled(if: isMeasuring)) struct JetStreamFigures {
    private let limit = Duration.seconds(30)

    @Test("Appends and reads per second", arguments: [1, 3])
    func figures(_ count: Int) throws {
      let servers = try JetStreamServers(count)
      print("\(count) servers that sync always, entries of 300 bytes, load \(Self.load)")
      let log = try servers.log("log")
      let entry = [UInt8](repeating: 7, count: 300)
      var (last, times): (UInt64, [Duration]) = (0, [])
      let clock = ContinuousClock()
      let start = clock.now
      while clock.now - start < .seconds(5) {
        let begin = clock.now
        #expect(try log.append([entry], after: last, within: limit) == .appended)
        times.append(clock.now - begin)
        last += 1
      }
      times.sort()
      let (median, most) = (times[times.count / 2], times[times.count * 99 / 100])
      print(
        "appends of one: \(Self.rate(times.count, clock.now - start)), "
          + "median \(median), 99 % \(most)")
      for size in [10, 100, 500] {
        let batch = Array(repeating: entry, count: size)
        let start = clock.now
        var appended = 0
        while clock.now - start < .seconds(4) {
          #expect(try log.append(batch, after: last, within: limit) == .appended)
          (last, appended) = (last + UInt64(size), appended + size)
        }
        print("appends of \(size): \(Self.rate(appended, clock.now - start))")
      }
      for byteLimit in [1_000_000, 30_000] {
        let reader = try servers.log("log")
        let start = clock.now
        var read = 0
        while read < last {
          read += try reader.read(from: UInt64(read) + 1, byteLimit: byteLimit, within: limit).count
        }
        print("reads of \(byteLimit) bytes: \(Self.rate(read, clock.now - start))")
      }
      print("load \(Self.load)")
    }

    private static func rate(_ count: Int, _ time: Duration) -> String {
      "\(Int(Double(count) / (time / .seconds(1)))) entries/s"
    }

    private static var load: String {
      let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)
      return text.map { String($0.prefix { $0 != " " }) } ?? "unknown"
    }
  }
}
