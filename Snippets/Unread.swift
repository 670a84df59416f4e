// Badges: the number of unread messages in each chat, and of all, kept current.
import Foundation
// snippet.show
import TreeRing

struct Message: Codable { var chat: String, text: String, sent: Int, isRead = false }

let messages = Bucket<Message>("messages")
let unread = GroupIndex("unread", on: messages, version: 1) { message in
  message.isRead ? nil : Place(in: message.chat, by: .ascending(message.sent))
}
let store = try Store(at: "chat.ring", indexes: [unread])

/// Marks the messages of a chat as read, up to the last one that was on screen.
func markRead(_ chat: GroupName, through sent: Int, in store: Store) throws {
  try store.write { tx in
    for row in try tx.index("unread").rows(in: chat) {
      var message = try messages.decode(row)
      if message.sent > sent { break }
      message.isRead = true
      try tx.put(message, for: row.key, in: messages)
    }
  }
}

/// Calls `show` with the badges now and after every commit. A slow view gets one call for many.
func followBadges(
  of store: Store, _ show: @Sendable (_ all: Int, _ chats: [(group: GroupName, rows: Int)]) -> Void
) async throws {
  while true {
    let snapshot = try store.snapshot()
    let index = try snapshot.index("unread")
    show(index.count, try index.groupCounts())
    try await store.reached(snapshot.commit + 1)  // throws `cancelled` with its task
  }
}
// snippet.hide
func put(_ chat: String, _ sent: Int) throws {
  try store.write { tx in
    try tx.put(Message(chat: chat, text: "?", sent: sent), for: Key("\(sent)"), in: messages)
  }
}
for sent in 1...5 { try put(sent < 3 ? "tea" : "rain", sent) }
try markRead("rain", through: 4, in: store)
let following = Task {
  try await followBadges(of: store) { all, chats in print(all, chats.map(\.group)) }
}
try await Task.sleep(for: .milliseconds(50))
following.cancel()
let badges = try store.snapshot().index("unread").groupCounts()
precondition(badges.map(\.group) == ["rain", "tea"] && badges.map(\.rows) == [1, 2])
