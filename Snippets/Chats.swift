// Mappings of an index of messages by chat.
import TreeRing
import TreeRingMappings

struct Message: Codable { var chat: String, text: String, date: Int }
let messages = Bucket<Message>("messages")
let byChat = GroupIndex("messages", on: messages, version: 1) { message in
  Place(in: message.chat, by: .ascending(message.date))
}
struct Table {
  func apply(_ change: Change) { print(change.after.outline.map(\.count)) }
}
let table = Table()
let store = try Store.inMemory(indexes: [byChat])
try store.write { tx in
  for date in 0..<12 {
    let message = Message(chat: date < 3 ? "work" : "home", text: "\(date)", date: date)
    try tx.put(message, for: Key("\(date)"), in: messages)
  }
}

// snippet.show
let chats = Mappings(
  of: "messages", groupsWhere: { $0.count > 0 },
  orderedBy: { chat in
    [.descending(chat.last(in: messages)?.date, nils: .last)]
  }
)
.range(.flexible(length: 50, pin: .end, max: 200))
.consolidated(below: 10, as: "all")
.drawn(withNeighborsAt: [-1], in: "work")

for try await change in store.changes(of: chats) {
  table.apply(change)
  // snippet.hide
  precondition(change.after.outline.map(\.count) == [9, 3])
  break
  // snippet.show
}
