// Rows from CSV, the history as lines, a store made of these lines, and the rows as CSV again.
// snippet.show
import TreeRing
import TreeRingImport

struct Airport: Codable { var code: String, name: String, elevation: Int }

let airports = Bucket<Airport>("airports")
let store = try Store(at: "airports.ring")

// Rows: the field “code” is the key, and all rows make one commit.
let table = """
  code,name,elevation
  JFK,"Kennedy, New York",13
  LGA,LaGuardia,22
  """
var rows = try RowReader(LineReader(bytes: Array(table.utf8)), key: "code")
try store.write { tx in
  while try rows.next() { try rows.apply(to: tx, in: "airports") }
}
print(try store.snapshot().get("JFK", in: airports)?.elevation ?? 0)  // 13

// The history as lines of JSON, one for each commit, and another store made of them.
var history: [UInt8] = []
try store.exportCommits { lines, _ in history += lines }
let copy = try Store(at: "copy.ring")
var commits = CommitReader(LineReader(bytes: history))
while try commits.next() {
  try copy.write { tx in try commits.line.apply(to: tx) }
}

// The rows of the copy as CSV.
var csv = ""
try copy.snapshot().exportCSV(of: "airports") { csv += String(decoding: $0, as: UTF8.self) }
print(csv)
// snippet.hide
precondition(csv == table + "\n")
precondition(copy.newestCommit == 1)
