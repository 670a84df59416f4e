// Typed rows with each of the two coders of `Codable` types: get and put of a row in a store, and
// encoding and decoding alone. A flat row, and one with nested values.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import TreeRing

let typedRows: [Subject] = [
  Subject(name: "TypedRows") { context in
    try typedLines(context, of: "a flat row") { TypedBook($0) }
    try typedLines(context, of: "a nested row") { TypedOrder($0) }
  }
]

/// A flat row of some 400 bytes of JSON.
private struct TypedBook: Codable, Sendable, Equatable {
  var id: Int
  var title: String
  var author: String
  var genre: String
  var publisher: String
  var isbn: String
  var summary: String
  var pages: Int
  var price: Double
  var sales: Int
  var published: Date
  var note: String?
  var isAvailable: Bool

  init(_ number: Int) {
    let hash = mix(UInt64(number))
    id = number
    title = "The title of book \(number)"
    author = "Author \(hash % 1000) of several"
    genre = ["science fiction", "sea", "poetry"][Int(hash % 3)]
    publisher = "Publisher \(hash % 50)"
    isbn = "978-\(hash % 10_000_000_000)"
    summary = "A summary of some length, as rows of applications often contain one: \(hash)"
    pages = Int(hash % 900)
    price = Double(hash % 10_000) / 100
    sales = Int(hash >> 40)
    published = Date(timeIntervalSinceReferenceDate: Double(hash % 700_000_000))
    note = hash % 2 == 0 ? "signed" : nil
    isAvailable = hash % 5 != 0
  }
}

/// A row of some 400 bytes of JSON with structs, arrays, a dictionary and enums.
private struct TypedOrder: Codable, Sendable, Equatable {
  struct Address: Codable, Sendable, Equatable { var street: String, city: String, zip: Int }
  struct Item: Codable, Sendable, Equatable { var article: Int, count: Int, price: Double }
  enum Payment: Codable, Sendable, Equatable { case cash, card(number: String, year: Int) }
  enum State: String, Codable, Sendable { case open, sent }

  var id: UUID
  var address: Address
  var items: [Item]
  var tags: [String]
  var totals: [String: Double]
  var payment: Payment
  var state: State

  init(_ number: Int) {
    let hash = mix(UInt64(number))
    let byte = UInt8(truncatingIfNeeded: hash)
    id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, byte))
    address = Address(street: "Street \(hash % 1000)", city: "Some city", zip: Int(hash % 100_000))
    items = (0..<4).map { Item(article: Int(hash >> 20) + $0, count: $0, price: Double($0) + 0.5) }
    tags = ["gift", "express delivery", "new"]
    totals = ["net": 100, "gross": 119.5]
    payment = hash % 2 == 0 ? .cash : .card(number: "4111 1111 1111", year: 2030)
    state = hash % 3 == 0 ? .open : .sent
  }
}

/// The lines of one type of row.
private func typedLines<Row: Codable & Sendable & SendableMetatype & Equatable>(
  _ context: Context, of name: String, _ make: (Int) -> Row
) throws {
  let count = context.pick(small: 2_000, full: 100_000)
  let rows = (0..<1_000).map(make)
  for (title, coder) in [("JSON", RowCoder<Row>.json()), ("binary", .binary())] {
    let encoded = try rows.map { try coder.encode($0) }
    let size = encoded.reduce(0) { $0 + $1.count } / encoded.count
    func line(_ verb: String) -> Measurement {
      let line = Measurement(
        "TypedRows", "\(verb) of \(name), \(title), CPU", unit: "µs", .lower)
      line.line.remark = "\(size) bytes"
      return line
    }
    let (encoding, decoding) = (line("encoding"), line("decoding"))
    let (put, get) = (line("put"), line("get"))
    let bucket = Bucket<Row>("rows", coder: coder)
    for _ in 0..<context.runs {
      let folder = try context.folder()
      let store = try Store(at: folder, options: StoreOptions(durability: .unsynced))
      try measure(encoding, count) { _ = try coder.encode(rows[$0 % rows.count]) }
      try measure(decoding, count) { number in
        let row = try encoded[number % rows.count].withUnsafeBytes { try coder.decode($0, 0) }
        guard number % 97 != 0 || row == rows[number % rows.count] else { throw wrong(name) }
      }
      try measure(put, count / 1_000, rows: rows.count) { _ in
        try store.write { tx in
          for (number, row) in rows.enumerated() {
            try tx.put(row, for: Key("\(number)"), in: bucket)
          }
        }
      }
      let keys = rows.indices.map { Key("\($0)") }
      let snapshot = try store.snapshot()
      var found = 0
      try measure(get, count) { number in
        if try snapshot.get(keys[number &* 7 % keys.count], in: bucket) != nil { found += 1 }
      }
      guard found == count else { throw wrong(name) }
      try store.close()
      try context.remove(folder)
    }
    for line in [encoding, decoding, put, get] { try context.report.add(line) }
  }
}

private func wrong(_ name: String) -> BenchmarkError {
  BenchmarkError("\(name) came back different")
}

/// Adds a sample of the processor time for each row of `count` turns, in microseconds.
private func measure(
  _ measurement: Measurement, _ count: Int, rows: Int = 1, _ body: (Int) throws -> Void
) throws {
  let seconds = try Clocks.threadSeconds { for turn in 0..<count { try body(turn) } }
  measurement.add(TreeRingEngine.name, seconds / Double(count * rows) * 1e6)
}
