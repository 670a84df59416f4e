// A list that jumps to a date: the position of the first message since then, and the window there.
// snippet.show
import Foundation
import TreeRing
import TreeRingMappings

struct Message: Codable { var chat: String, text: String, sent: Date }

let messages = Bucket<Message>("messages")
let byChat = Index("chats", on: messages, version: 1, group: \.chat, by: .ascending(\.sent))
let store = try Store(at: "chat.ring", indexes: [byChat])
// snippet.hide
let start = Date() - 200 * 86_400
try store.write { tx in
  for day in 0..<200 {
    let message = Message(chat: "tea", text: "\(day)", sent: start + Double(day) * 86_400)
    try tx.put(message, for: Key("\(day)"), in: messages)
  }
}
// snippet.show

/// Shows fifty messages: the first since a date, and those after it.
func jump(to date: Date, of chat: String, in list: inout MappingObserver) throws -> Change {
  let position = try list.store.snapshot()[byChat].rank(of: date, in: chat)
  // With `min`, a date behind the last message shows the last fifty, instead of nothing.
  let range = RangeOptions.flexible(length: 50, offset: position, min: 50)
  return try list.setRange(range, of: GroupName(chat))
}

let newest = RangeOptions.flexible(length: 50, pin: .end)
var list = store.observer(of: Mappings(of: byChat, groups: ["tea"]).range(newest))
_ = try list.advance()  // the newest fifty
let there = try jump(to: Date() - 100 * 86_400, of: "tea", in: &list)
let back = try list.setRange(newest, of: "tea")
// snippet.hide
let first = try there.after.row(at: RowPath(section: 0, row: 0))
precondition(first?.key == "101" && there.after.rowCount == 50)
let late = try jump(to: start + 500 * 86_400, of: "tea", in: &list)
precondition(late.after.rowCount == 50 && back.after.rowCount == 50)
