// Writes a store, closes it, reopens it and reads from it by each product.

import TreeRing
import TreeRingCollections
import TreeRingImport
import TreeRingMappings

struct Note: Codable {
  var title: String
  var folder: String
}

struct NoteModel: ValueModel {
  var identifier: String
  var note: Note
}

let notes = Bucket<Note>("notes")
let byFolder = GroupIndex("folders", on: notes, version: 1) { note in
  Place(in: note.folder, by: .ascending(note.title))
}

let path = CommandLine.arguments.dropFirst().first ?? "sample.ring"
do {
  let store = try Store(at: path, indexes: [byFolder])
  try store.write { tx in
    try tx.put(Note(title: "Milk", folder: "shopping"), for: "1", in: notes)
    try tx.put(Note(title: "Bread", folder: "shopping"), for: "2", in: notes)
  }
  try store.write { tx in
    try tx.put(Note(title: "Call Ada", folder: "today"), for: "3", in: notes)
  }
  try store.close()
}

let store = try Store(at: path, indexes: [byFolder])
let snapshot = try store.snapshot()
let bread = try snapshot.get("2", in: notes)
let shopping = try snapshot.index("folders").count(in: "shopping")
let earlier = try store.snapshot(at: .commit(1)).get("3", in: notes)
precondition(bread?.title == "Bread" && shopping == 2 && earlier == nil)

for try await change in store.changes(of: Mappings(of: "folders", groupsWhere: { _ in true })) {
  precondition(change.after.sections.map { $0.group.description } == ["shopping", "today"])
  break
}

let collection = LiveCollection(
  source: StoreSource(store, bucket: notes, index: "folders", group: "shopping"),
  options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
) { row in
  NoteModel(identifier: row.key.description, note: try notes.decode(row))
}
let page = await collection.load()
precondition(page.error == nil)

var history: [UInt8] = []
try store.exportCommits { lines, _ in history += lines }
let copy = try Store.inMemory()
var commits = CommitReader(LineReader(bytes: history))
while try commits.next() { try copy.write { tx in try commits.line.apply(to: tx) } }
precondition(copy.newestCommit == store.newestCommit)
try store.close()
print("SampleApp wrote, reopened and read \(path).")
