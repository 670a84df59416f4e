import TestSupport
import Testing

@testable import treering

@Suite("Latencies of `treering bench`") struct LatencyTests {
  @Test(
    "A percentile is that of the sorted durations, or at most a 64th above",
    arguments: seeds(1...200))
  func percentiles(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var histogram = LatencyHistogram()
    var durations: [UInt64] = []
    for _ in 0..<Int.random(in: 1...300, using: &random) {
      let width = UInt64.random(in: 0...63, using: &random)
      let duration = random.next() >> width
      durations.append(duration)
      histogram.add(duration)
    }
    durations.sort()
    #expect(histogram.count == UInt64(durations.count))
    #expect(histogram.maximum == durations.last)
    for percent in 1...100 {
      let part = Double(percent) / 100
      let rank = Int((Double(durations.count) * part).rounded(.up))
      let exact = durations[rank - 1]
      let found = histogram.percentile(part)
      #expect(found >= exact && found - exact <= exact / 64, "seed \(seed), \(percent) %")
    }
  }

  @Test("No durations have no percentile but 0")
  func none() { #expect(LatencyHistogram().percentile(0.5) == 0) }

  @Test("Latencies and rates have three digits and a suitable unit")
  func units() {
    let cases: [(UInt64, String)] = [
      (0, "0 ns"), (999, "999 ns"), (1_000, "1.00 µs"), (9_994, "9.99 µs"), (9_996, "10.0 µs"),
      (99_960, "100 µs"), (999_499, "999 µs"), (999_500, "1.00 ms"), (1_500_000_000, "1.50 s"),
      (3_600_000_000_000, "3600 s"),
    ]
    for (nanoseconds, text) in cases { #expect(Units.latency(nanoseconds) == text) }
    #expect(Units.rate(1_234_567) == "1234567")
    #expect(Units.rate(0.5) == "0.50")
  }

  @Test("A memory size is a number of bytes, KiB, MiB or GiB")
  func sizes() throws {
    #expect(try MemorySize.parse("4096") == 4096)
    #expect(try MemorySize.parse("2KiB") == 2 << 10)
    #expect(try MemorySize.parse("64MiB") == 64 << 20)
    #expect(try MemorySize.parse("3GiB") == 3 << 30)
    for text in ["", "0", "-1", "1.5MiB", "MiB", "1MB", "99999999999GiB"] {
      #expect(throws: (any Error).self) { try MemorySize.parse(text) }
    }
  }
}
