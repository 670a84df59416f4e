// The samples of doc comments that no other program contains.
import Foundation
import TreeRing
import TreeRingCollections
import TreeRingMappings
import TreeRingReplication
import TreeRingTesting

struct Book: Codable, Equatable { var title: String, genre: String, sales: Int }

let mobyDick = Book(title: "Moby Dick", genre: "sea", sales: 120_000)
do {
  let store = try Store(at: "library.ring")
  let books = Bucket<Book>("books")
  try store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
  let book = try store.snapshot().get("moby", in: books)
  precondition(book == mobyDick)
  try store.writeOnAnyThread { tx in try tx.put(mobyDick, for: "2", in: books) }
}

do {
  let books = Bucket<Book>("books", coder: .binary())
  let store = try Store.inMemory()
  try store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
  let book = try store.snapshot().get("moby", in: books)
  precondition(book == mobyDick)
}

do {
  let books = Bucket<Book>("books")
  let log = MemoryLog()
  let replica = try Replica(at: "shop.ring", of: log, options: ReplicaOptions(name: "berlin"))
  try replica.lead()
  try replica.store.write { tx in try tx.put(mobyDick, for: "moby", in: books) }
  let found = try replica.store.snapshot().get("moby", in: books)
  precondition(found == mobyDick)
  try replica.close()
}

/// Checks an adapter of a shared log.
func checkLog() {
  let report = SharedLogChecks(seed: 1).run { count in
    let log = MemoryLog()
    return Array(repeating: log, count: count)
  }
  precondition(report.problems.isEmpty)
}
_ = checkLog

/// Blocks in asynchronous code on purpose.
func dropHistory(of store: Store) async throws -> CommitNumber {
  let report = try Store.blocking { try store.compact(to: .keeping(.last(commits: 100))) }
  return report.horizon
}
_ = dropHistory

/// Reads an index at a commit before its definition.
func authors(in store: Store, before monday: Timestamp) async throws -> Int {
  let past = try await store.snapshot(at: .date(monday))
  try await past.buildIndex("by author")
  let books = try past.index("by author").rows(in: "Le Guin")
  return books.count
}
_ = authors

struct Trip: Codable { var day: Date }

do {
  let trips = Bucket<Trip>("trips")
  let store = try Store.inMemory()
  try store.define("by day", FieldIndex(on: trips, group: "day", order: []))
  let (monday, tuesday) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86400))
  try store.write { tx in
    for number in 0..<30 { try tx.put(Trip(day: monday), for: number, in: trips) }
  }
  let byDay = Index(named: "by day", on: trips, group: Date.self)
  let days = Mappings(of: byDay, groups: [monday, tuesday])
    .range(.fixed(length: 20), of: byDay.groupName(of: monday))
  var observer = store.observer(of: days)
  let shown = try observer.advance().after
  precondition(shown.rowCount == 20)
}

// Indexes.
enum Priority: Int, Codable, SortValue { case low, normal, high }

let books = Bucket<Book>("books")
let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
  Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
}
let byTitle = GroupIndex(
  "ByTitle", on: books, version: 1, groupedBy: { $0.genre },
  sortedBy: { $0.title.localizedStandardCompare($1.title) == .orderedAscending })
let bestsellers = GroupIndex(
  "Bestsellers", filtering: "SalesRank", on: books, version: 1
) { $0.row.sales > 100_000 }

let store = try Store.inMemory(indexes: [salesRank, byTitle, bestsellers])
let inStock = FieldIndex.Condition("stock", in: ["yes"])
try store.define("In stock", FieldFilter(of: "SalesRank", where: [inStock]))
try store.write { tx in
  try tx.put(mobyDick, for: "moby", in: books)
  try tx.put(Book(title: "Ubik", genre: "sci-fi", sales: 9), for: "ubik", in: books)
  try tx.put(Book(title: "Dune", genre: "sci-fi", sales: 20), for: "dune", in: books)
}
do {
  let index = try store.snapshot().index("SalesRank")
  let titles = try index.rows(in: "sci-fi").map { try books.decode($0).title }
  precondition(titles == ["Dune", "Ubik"])
  let position = try index.firstIndex(in: "sci-fi") { try books.decode($0).sales < 15 }
  precondition(position == 1)
}
do {
  let byGenre = try FieldIndex(
    on: books, group: "genre", order: [FieldIndex.Order("sales", descending: true)])
  try store.define("ByGenre", byGenre)
  let count = try store.snapshot().index("ByGenre").count(in: "sci-fi")
  precondition(count == 2)
}
for (name, count) in [("ByTitle", 1), ("Bestsellers", 1), ("In stock", 0)] {
  let found = try store.snapshot().index(name).count(in: "sea")
  precondition(found == count)
}

// Writes.
do {
  let seen = try store.snapshot().written("moby", in: books) ?? 0
  try store.write { tx in
    try tx.require("moby", in: books, lastWrittenAt: seen)
    try tx.put(mobyDick, for: "moby", in: books)
  }
}
for _ in 1...2 {
  try store.write { tx in
    tx.idempotencyKey = Array("order 17".utf8)
    try tx.put(mobyDick, for: "moby", in: books)
  }
}

// Lists.
final class Table: ConsumerView {
  typealias Model = TrackedRow<Book>
  var rows = 0
  func view(refresh model: Model, at path: RowPath, by refresh: RowRefresh) {}
  func view(reloadSection section: Int) {}
  func view(removeSection section: Int) {}
  func view(insertSection section: Int) {}
  func view(removeRowAt path: RowPath) { rows -= 1 }
  func view(insertRowAt path: RowPath) { rows += 1 }
}
do {
  let request = TrackerRequest(books, index: "SalesRank", groups: ["sci-fi"]).first(20)
  let consumer = PlainConsumer<TrackedRow<Book>>()
  let table = Table()
  let adapter = ConsumerAdapter(view: table, offsets: PathOffsets(rowsBefore: 1))
  consumer.delegate = adapter
  var tracker = try Tracker(of: request, in: store)
  consumer.reset(with: tracker.rows)
  try store.write { tx in try tx.delete("ubik", in: books) }
  let batch = try tracker.advance()
  let transactions = batch
  consumer.willChange()
  consumer.consume(transactions)
  try consumer.didChange()
  precondition(consumer.items.map(\.row.title) == ["Dune"] && table.rows == -1)
}
do {
  let consumer = SectionedConsumer<ChangedRow, GroupName>(title: \.group)
  var observer = store.observer(of: Mappings(of: "SalesRank", groups: ["sea", "sci-fi"]))
  try consumer.reset(applying: observer.advance().transactions())
  precondition(consumer.sectionsCount == 2)
}
