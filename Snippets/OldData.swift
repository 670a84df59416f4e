// Old data: rows in batches that a second run does not repeat, and changes under their own dates.
// snippet.show
import Foundation
import TreeRing
import TreeRingImport

struct Note: Codable { var id: String, text: String }

let notes = Bucket<Note>("notes")

/// Imports rows from JSON Lines, a JSON array or CSV, a thousand in each commit. A repetition
/// writes nothing.
func importRows(_ lines: LineReader, named name: String, into store: Store) throws {
  var rows = try RowReader(lines, key: "id")
  var (batch, hasMore) = (0, true)
  while hasMore {
    try store.write { tx in
      for count in 0..<1000 {
        hasMore = try rows.next()
        if !hasMore { break }
        if count == 0 { tx.idempotencyKey = Array("import of \(name), \(batch)".utf8) }
        try rows.apply(to: tx, in: notes.name)
      }
    }
    batch += 1
  }
}

/// Imports old changes, each as a commit under its own date. The dates must ascend.
func importChanges(_ changes: [(date: Date, note: Note)], into store: Store) throws {
  for (date, note) in changes {
    try store.write(durability: .unsynced) { tx in
      tx.timestamp = Timestamp(date)
      try tx.put(note, for: Key(note.id), in: notes)
    }
  }
  try store.sync()  // once, instead of after each commit
}

// The old changes come first: after a commit of today, none may be dated earlier.
let store = try Store(at: "notes.ring")
// snippet.hide
let table = "id,text\n1,milk\n2,bread\n"
let start = Date(timeIntervalSince1970: 1_000_000)
try importChanges(
  [(start, Note(id: "1", text: "oat")), (start + 60, Note(id: "1", text: "oat milk"))], into: store)
for _ in 1...2 {
  try importRows(LineReader(bytes: Array(table.utf8)), named: "table", into: store)
}
precondition(store.newestCommit == 3)
let early = try store.snapshot(at: .date(start + 30)).get("1", in: notes)
precondition(early?.text == "oat")
let count = try store.snapshot().count(in: notes)
precondition(count == 2)
let late = Result { try importChanges([(start, Note(id: "1", text: "oat"))], into: store) }
if case .success = late { preconditionFailure() }
