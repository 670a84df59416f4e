// Importing the flights: each line is a commit with its date, under one declarative index.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import TreeRing

let importFlights = Subject(name: "Import") { context in
  guard let path = context.flights else { return }
  let measurement = Measurement(
    "Import", "import of flights with an index", unit: "s", .lower)
  var commits = 0
  for _ in 0..<context.pick(small: context.runs, full: 3) {
    let folder = try context.folder()
    var store: Store?
    let seconds = try Clocks.wallSeconds { store = try importedStore(path, in: folder) }
    guard let store else { continue }
    measurement.add(TreeRingEngine.name, seconds)
    commits = Int(store.newestCommit)
    // In the end every flight has been deleted, so a state in the middle is read.
    let middle = try store.snapshot(at: .commit(store.newestCommit / 2))
    try measurement.check(try digest(of: middle), of: TreeRingEngine.name)
    try store.close()
    try context.remove(folder)
  }
  let isYear = commits > 400_000
  try context.report.add(measurement, bar: isYear ? .absolute(60) : nil)
}

/// Imports a file of flights into a new store.
func importedStore(_ path: String, in folder: String) throws -> Store {
  let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
  try replayFlights(path, into: store) { _ in }
  try store.sync()
  return store
}

/// Commits each line of a file of flights, under an index of those that have not departed. Calls
/// `body` after each commit with the number of rows it wrote.
func replayFlights(
  _ path: String, into store: Store, _ body: (_ rows: Int) throws -> Void
) throws {
  try store.define(
    "departures",
    FieldIndex(
      bucket: "flights", group: "origin", order: [.init("scheduled"), .init("flight")],
      where: [.init("status", in: ["scheduled", "delayed", "cancelled"])]))
  let lines = try LineFile(path: path)
  let bucket = Bucket.bytes("flights")
  func importLine(_ bytes: UnsafeRawBufferPointer) throws {
    var line = FlightLine(bytes)
    let date = try line.readDate()
    var rows = 0
    try store.write { tx in
      tx.timestamp = date
      // As the import does: the log may name an earlier date than the commit before.
      tx.timestampAllowance = [.clamping, .ahead]
      while let operation = try line.nextOperation() {
        rows += 1
        switch operation {
        case .put(let key, let object): try tx.put(object, for: key, in: bucket)
        case .delete(let key): try tx.delete(key, in: "flights")
        }
      }
    }
    try body(rows)
  }
  while try lines.next(importLine) != nil {}
}

/// The digest of every flight and every group.
func digest(of snapshot: Snapshot) throws -> UInt64 {
  var scan = Scan()
  try snapshot.forEach(in: Bucket.bytes("flights")) { key, object in
    key.bytes.withUnsafeBytes { key in
      object.withUnsafeBytes { scan.add(key: key, value: $0) }
    }
    return true
  }
  let index = try snapshot.index("departures")
  for (group, count) in try index.groupCounts() {
    for position in 0..<count {
      guard let id = try index.id(at: position, in: group) else { continue }
      id.key.bytes.withUnsafeBytes {
        scan.add(key: $0.loadUnaligned(as: UInt64.self), value: UInt64(position))
      }
    }
  }
  return scan.digest &+ UInt64(scan.count)
}

/// A line of the flights file, parsed in place: {"at":DATE,"ops":[["put",BUCKET,KEY,OBJECT]…]}.
/// Relies on known properties of that file: no spaces, no escapes in keys.
private struct FlightLine {
  enum Operation {
    case put(Key, [UInt8])
    case delete(Key)
  }

  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private mutating func skip(_ text: StaticString) throws {
    let end = position + text.utf8CodeUnitCount
    guard end <= bytes.count,
      UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        .elementsEqual(bytes[position..<end])
    else { throw BenchmarkError("a line of the flights file is not as expected") }
    position = end
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  /// A string without escapes.
  private mutating func readText() throws -> Range<Int> {
    try skip("\"")
    guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "\"")) else {
      throw BenchmarkError("a string of the flights file does not end")
    }
    defer { position = end + 1 }
    return position..<end
  }

  mutating func readDate() throws -> Timestamp {
    try skip("{\"at\":")
    let text = try readText()
    try skip(",\"ops\":[")
    guard text.count == 25 else { throw BenchmarkError("a date of the flights file is too short") }
    func number(_ start: Int, _ count: Int) -> Int {
      (0..<count).reduce(0) { $0 * 10 + Int(bytes[text.lowerBound + start + $1]) - 48 }
    }
    let (year, month, day) = (number(0, 4), number(5, 2), number(8, 2))
    // Days since 1970 of a Gregorian date; the year's start is shifted to March.
    let shifted = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    let zone = (number(20, 2) * 60 + number(23, 2)) * (bytes[text.lowerBound + 19] == 45 ? 1 : -1)
    let minutes = (days * 24 + number(11, 2)) * 60 + number(14, 2) + zone
    return Timestamp(microseconds: Int64(minutes * 60 + number(17, 2)) * 1_000_000)
  }

  mutating func nextOperation() throws -> Operation? {
    if take(UInt8(ascii: "]")) { return nil }
    _ = take(UInt8(ascii: ","))
    try skip("[")
    let kind = try readText()
    try skip(",\"flights\",")
    let key = Key(bytes: bytes[try readText()])
    if kind.count == 6 {
      try skip("]")
      return .delete(key)
    }
    try skip(",")
    let start = position
    var isInText = false
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\\") { position += 1 }
      if byte == UInt8(ascii: "\"") { isInText.toggle() }
      if byte == UInt8(ascii: "}"), !isInText { break }
    }
    let object = Array(bytes[start..<position])
    try skip("]")
    return .put(key, object)
  }
}
