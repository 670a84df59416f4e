// The rows that benchmarks write. They are made from a seed, so every engine and every run has the
// same ones.

/// The kinds of values.
public enum ValueKind: String, Sendable {
  /// 100 bytes, half of which compress away.
  case v100
  /// About 400 bytes of JSON.
  case json
  /// 300 bytes that do not compress.
  case v300
}

/// Rows 0..<count with 16-byte keys in random order.
public final class Dataset: Sendable {
  /// A key's length in bytes.
  public static let keyByteCount = 16

  /// The number of rows.
  public let count: Int
  public let kind: ValueKind
  /// The key of each row.
  public let keys: [[UInt8]]
  /// The row numbers in key order.
  public let sorted: [Int]
  private let pool: [[UInt8]]

  public init(count: Int, kind: ValueKind) {
    self.count = count
    self.kind = kind
    keys = (0..<count).map { Self.key($0) }
    let keys = keys
    sorted = (0..<count).sorted { keys[$0].lexicographicallyPrecedes(keys[$1]) }
    pool = Self.pool(kind)
  }

  /// A data set with the same keys in key order, so that row n has the n-th key.
  public init(sorting other: Dataset) {
    count = other.count
    kind = other.kind
    // Copied one by one, so that they are adjacent in memory, like the input of an importer.
    keys = other.copies(ofKeys: other.sorted)
    sorted = Array(0..<other.count)
    pool = other.pool
  }

  /// A data set with the same keys and values of another kind.
  public init(keysOf other: Dataset, kind: ValueKind) {
    count = other.count
    self.kind = kind
    keys = other.keys
    sorted = other.sorted
    pool = Self.pool(kind)
  }

  /// New copies of the keys of rows, in memory in this order.
  public func copies(ofKeys rows: [Int]) -> [[UInt8]] {
    rows.map { row in keys[row].withUnsafeBytes { Array($0) } }
  }

  private static func pool(_ kind: ValueKind) -> [[UInt8]] {
    (0..<16384).map { value(UInt64($0), kind) }
  }

  /// The number of bytes of all keys and values together.
  public var logicalByteCount: Int {
    (0..<count).reduce(0) { $0 + Self.keyByteCount + value($1).count }
  }

  /// The value of a version of a row.
  @inline(__always)
  public func value(_ row: Int, version: Int = 0) -> [UInt8] {
    pool[(row &* 31 &+ version &* 7) & 16383]
  }

  private static func key(_ row: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(keyByteCount)
    for word in [mix(UInt64(row)), mix(UInt64(row) ^ 0xA5A5_0000_0000)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return bytes
  }

  private static func value(_ number: UInt64, _ kind: ValueKind) -> [UInt8] {
    var random = Random(seed: number &+ 99)
    switch kind {
    case .v100: return (0..<50).map { _ in random.byte() } + [UInt8](repeating: 32, count: 50)
    case .v300: return (0..<300).map { _ in random.byte() }
    case .json:
      let places = ["Halifax", "Port of Spain", "Lisbon", "Ulaanbaatar", "Cusco", "Antananarivo"]
      let states = ["scheduled", "delayed", "boarding", "departed", "landed"]
      let text = """
        {"id":"\(random.next())","customer":"\(random.next() % 100_000)","state":\
        "\(states[Int(random.next() % 5)])","from":"\(places[Int(random.next() % 6)])","to":\
        "\(places[Int(random.next() % 6)])","weight":\(random.next() % 90_000),"price":\
        \(random.next() % 1_000_000),"created":"2024-0\(random.next() % 9 + 1)-1\
        \(random.next() % 10)T10:00:00Z","tags":["fragile","express","insured"],"remarks":\
        "Deliver to the side entrance; ask for \(random.next() % 1000) and ring twice if nobody \
        answers.","route":[\(random.next() % 900),\(random.next() % 900),\(random.next() % 900)],\
        "signed":\(random.next() % 2 == 0)}
        """
      return Array(text.utf8)
    }
  }
}

/// Mixes a number's bits (the finisher of splitmix64).
@inline(__always)
public func mix(_ number: UInt64) -> UInt64 {
  var word = number &+ 0x9E37_79B9_7F4A_7C15
  word = (word ^ (word &>> 30)) &* 0xBF58_476D_1CE4_E5B9
  word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
  return word ^ (word &>> 31)
}

/// A small seeded generator (splitmix64).
public struct Random: RandomNumberGenerator, Sendable {
  private var state: UInt64
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix(state)
  }

  mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

  /// `count` random row numbers below `bound`.
  public mutating func rows(_ count: Int, below bound: Int) -> [Int] {
    (0..<count).map { _ in Int(next() % UInt64(bound)) }
  }
}
