import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct SortKeyTests {
  private let context = SortKeyContext(
    created: Stamp(commit: 3, operation: 1),
    modified: Stamp(commit: 9, operation: 0))

  private func key(_ items: SortItem..., context: SortKeyContext? = nil) -> [UInt8] {
    Place(in: GroupName("g"), by: items).sortKey(context: context ?? self.context)
  }

  /// Checks that the keys of values have the order of the values, in both directions, and that none
  /// is a prefix.
  private func check<Value: SortValue>(_ values: [Value], _ less: (Value, Value) -> Bool) {
    for a in values {
      for b in values {
        let (up, other) = (key(.ascending(a)), key(.ascending(b)))
        #expect(up.lexicographicallyPrecedes(other) == less(a, b), "\(a) before \(b)")
        let (down, otherDown) = (key(.descending(a)), key(.descending(b)))
        #expect(down.lexicographicallyPrecedes(otherDown) == less(b, a), "\(b) before \(a)")
        if up != other {
          #expect(!other.starts(with: up))
          #expect(!otherDown.starts(with: down))
        }
      }
    }
  }

  @Test("Integers of every width order by value")
  func integers() {
    check([Int.min, -256, -1, 0, 1, 255, 256, .max], <)
    check([Int8.min, -1, 0, 1, .max], <)
    check([Int16.min, -1, 0, 1, .max], <)
    check([Int32.min, -1, 0, 1, .max], <)
    check([Int64.min, -1, 0, 1, .max], <)
    check([Int128.min, -1 << 70, -1, 0, 1, 1 << 70, .max], <)
    check([UInt.min, 1, 255, 256, .max], <)
    check([UInt8.min, 1, .max], <)
    check([UInt16.min, 1, .max], <)
    check([UInt32.min, 1, .max], <)
    check([UInt64.min, 1, 1 << 63, .max], <)
    check([UInt128.min, 1, 1 << 127, .max], <)
    check([false, true]) { !$0 && $1 }
  }

  @Test("Floating point orders by value, zero equals minus zero, NaN comes last")
  func floatingPoint() {
    let values: [Double] = [
      -.infinity, -1e300, -1, -.leastNonzeroMagnitude, 0, .leastNonzeroMagnitude, 0.5, 1, 1e300,
      .infinity, .nan,
    ]
    check(values) { $0 < $1 || (!$0.isNaN && $1.isNaN) }
    check([-Float.infinity, -1, 0, 1, .infinity, .nan]) { $0 < $1 || (!$0.isNaN && $1.isNaN) }
    #expect(key(.ascending(-0.0)) == key(.ascending(0.0)))
    #expect(key(.ascending(-Double.nan)) == key(.ascending(Double.signalingNaN)))
  }

  @Test("Strings order by Unicode scalars, data by bytes, zero bytes included")
  func strings() {
    let texts = [
      "", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b", "z", "é", "日", "🦊", "\u{FFFF}",
    ]
    check(texts) { $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars) }
    let data: [[UInt8]] = [
      [], [0], [0, 0], [0, 255], [0, 1], [1], [255], [255, 0], [255, 255],
    ]
    check(data) { $0.lexicographicallyPrecedes($1) }
    check(data.map { Data($0) }) { $0.lexicographicallyPrecedes($1) }
    check(["a", "b"].map { Substring($0) }, <)
  }

  @Test("Dates and timestamps order by time")
  func dates() {
    // Dates before and at 1970, near 2001 (Foundation's zero), and with fractions.
    let seconds = [-62_135_596_800, -1e9, -1, -0.5, 0, 0.25, 1, 978_307_199.5, 978_307_200, 2e9]
    check(seconds.map { Date(timeIntervalSince1970: $0) } + [.distantPast, .distantFuture], <)
    check([nil, Date(timeIntervalSince1970: -5), .distantPast] as [Date?]) { a, b in
      switch (a, b) {
      case (nil, nil), (_, nil): false
      case (nil, _): true
      case (let a?, let b?): a < b
      }
    }
    check([Int64.min, -1, 0, 1, .max].map { Timestamp(microseconds: $0) }, <)
  }

  private enum Priority: Int, SortValue { case low = -1, normal, high }
  private enum Size: String, SortValue { case large = "L", medium = "M" }

  @Test("Enumerations order by their raw values, identifiers by their bytes")
  func everydayTypes() {
    check([Priority.high, .low, .normal]) { $0.rawValue < $1.rawValue }
    check([Size.large, .medium]) { $0.rawValue < $1.rawValue }
    check([false, true]) { !$0 && $1 }
    check((0..<8).map { _ in UUID() }) { $0.uuidString < $1.uuidString }
  }

  @Test("Absent values come first or last as requested, in both directions")
  func optionals() {
    check([nil, Int.min, 0, .max] as [Int?]) { a, b in
      switch (a, b) {
      case (nil, nil), (_, nil): false
      case (nil, _): true
      case (let a?, let b?): a < b
      }
    }
    let absent: Int? = nil
    for value in [Int.min, 0, .max] as [Int?] {
      #expect(key(.ascending(absent, nils: .first)) < key(.ascending(value, nils: .first)))
      #expect(key(.ascending(value, nils: .last)) < key(.ascending(absent, nils: .last)))
      #expect(key(.descending(absent, nils: .first)) < key(.descending(value, nils: .first)))
      #expect(key(.descending(value, nils: .last)) < key(.descending(absent, nils: .last)))
    }
    #expect(key(.descending(2, nils: .last)) < key(.descending(1, nils: .last)))
  }

  @Test("Created and modified order by commit, then by operation, in either direction")
  func operations() {
    func context(_ commit: UInt64, _ operation: UInt32) -> SortKeyContext {
      let number = Stamp(commit: commit, operation: operation)
      return SortKeyContext(created: number, modified: number)
    }
    let numbers = [(1, 0), (1, 5), (2, 0), (256, 0), (.max, .max)].map { context($0.0, $0.1) }
    for (a, b) in zip(numbers, numbers.dropFirst()) {
      #expect(key(.created, context: a) < key(.created, context: b))
      #expect(key(.modified, context: a) < key(.modified, context: b))
      #expect(key(.modified.reversed, context: b) < key(.modified.reversed, context: a))
    }
    #expect(key(.created) != key(.modified))
  }

  @Test("Keys of several items order as the tuples do, and none is a prefix of another")
  func tuples() {
    for seed: UInt64 in 1...400 {
      var maker = JSONMaker(seed: seed)
      func tuple() -> (String, Int?, Double, [UInt8]) {
        (
          maker.pick(["", "a", "a\0", "ab", "b", "é"]), maker.pick([nil, -1, 0, 300]),
          maker.pick([-1, 0, 0.5, .nan]), maker.pick([[], [0], [0, 0], [255]])
        )
      }
      let (a, b) = (tuple(), tuple())
      func place(_ t: (String, Int?, Double, [UInt8])) -> [UInt8] {
        key(.ascending(t.0), .descending(t.1), .descending(t.2), .ascending(t.3))
      }
      func order(_ a: Double, _ b: Double) -> Int {
        a.isNaN || b.isNaN ? (a.isNaN ? 1 : 0) - (b.isNaN ? 1 : 0) : (a < b ? -1 : a > b ? 1 : 0)
      }
      let parts = [
        a.0 == b.0 ? 0 : a.0 < b.0 ? -1 : 1, -order(Double(a.1 ?? -99), Double(b.1 ?? -99)),
        -order(a.2, b.2),
        a.3 == b.3 ? 0 : a.3.lexicographicallyPrecedes(b.3) ? -1 : 1,
      ]
      let expected = parts.first { $0 != 0 } ?? 0
      let (x, y) = (place(a), place(b))
      #expect((x < y) == (expected < 0), "seed \(seed): \(a) \(b)")
      #expect((x == y) == (expected == 0), "seed \(seed): \(a) \(b)")
      if x != y { #expect(!x.starts(with: y), "seed \(seed): \(a) \(b)") }
    }
  }

  @Test("A key is cut at 512 bytes")
  func cutting() {
    let long = String(repeating: "x", count: 600)
    #expect(key(.ascending(long)).count == 512)
    #expect(key(.ascending(long + "a")) == key(.ascending(long + "b")))
    #expect(key(.descending(long), .ascending(1)).count == 512)
  }

  @Test("A place's group may be text, a name or a literal")
  func places() {
    let genre: Substring = "crime"
    #expect(Place(in: genre, by: .created).group == "crime")
    #expect(Place(in: "crime", by: .created) == Place(in: GroupName("crime"), by: .created))
  }

  @Test("Encoded group names keep the order, are read back, and have a limit")
  func groups() throws {
    let names: [[UInt8]] = [[], [0], [0, 0], [0, 1], [1], [1, 0], [255], [255, 255]]
    for (a, b) in zip(names, names.dropFirst()) {
      let (x, y) = (GroupName(bytes: a).encoded, GroupName(bytes: b).encoded)
      #expect(x < y)
      #expect(!y.starts(with: x))
      let read = try #require((y + [9]).withUnsafeBytes { GroupName.decode($0) })
      #expect(read.name.bytes == b && read.byteCount == y.count)
    }
    #expect(GroupName(bytes: [UInt8](repeating: 1, count: 255)).encoded.count == 257)
    for bytes in [[UInt8](repeating: 1, count: 256), [UInt8](repeating: 0, count: 128)] {
      #expect { try GroupName(bytes: bytes).check() } throws: {
        ($0 as? TreeRingError)?.code == .tooLarge
      }
    }
    #expect(([1, 2, 3] as [UInt8]).withUnsafeBytes { GroupName.decode($0) } == nil)
    #expect(([1, 0, 7] as [UInt8]).withUnsafeBytes { GroupName.decode($0) } == nil)
  }
}
