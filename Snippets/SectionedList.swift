// A live list in sections: chats by topic, kept in step by minimal changes.
import Foundation
// snippet.show
import TreeRing
import TreeRingMappings

struct Message: Codable { var topic: String, text: String, sent: Int }

let messages = Bucket<Message>("messages")
let byTopic = GroupIndex("topics", on: messages, version: 1) { message in
  Place(in: message.topic, by: .ascending(message.sent))
}
let store = try Store(at: "chat.ring", indexes: [byTopic])

// A section for each topic with its last three messages; the topic with the newest message first.
let topics = Mappings(
  of: "topics", groupsWhere: { _ in true },
  orderedBy: { topic in
    [.descending(topic.last(in: messages)?.sent, nils: .last)]
  }
)
.range(.fixed(length: 3, pin: .end))

func show(_ rows: ShownRows) throws {
  let snapshot = try store.snapshot(at: .commit(rows.commit))
  for section in rows.sections {
    print("#", section.group)
    for row in section { print("  ", try snapshot.get(row.key, in: messages)?.text ?? "") }
  }
}

for try await change in store.changes(of: topics) {
  if change.isReset { try show(change.after) }
  for section in change.sections.inserts { print("+ section", section) }
  for section in change.sections.deletes { print("- section", section) }
  for section in change.sections.moves { print("section", section.from, "to", section.to) }
  for insert in change.rows.inserts { print("+", insert.path, insert.row) }
  for delete in change.rows.deletes { print("-", delete.path) }
  for move in change.rows.moves { print(move.from, "to", move.to) }
  for update in change.rows.updates { print("*", update.to) }
  // snippet.hide
  switch change.after.sections.count {
  case 0: try await send("tea", "Green or black?", 1)
  case 1: try await send("rain", "Again.", 2)
  default:
    if change.after.sections.first?.group == "tea" { exit(0) }
    try await send("tea", "Both.", 3)
  }
  // snippet.show
}
// snippet.hide
func send(_ topic: String, _ text: String, _ sent: Int) async throws {
  try await store.write { tx in
    let message = Message(topic: topic, text: text, sent: sent)
    try tx.put(message, for: Key("\(sent)"), in: messages)
  }
}
