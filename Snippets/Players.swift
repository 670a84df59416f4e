// A list of players by score; see docs/coming-from/grdb.md.
// snippet.show
import TreeRing
import TreeRingMappings

struct Player: Codable { var name: String, score: Int }

let players = Bucket<Player>("player")
let byScore = GroupIndex("byScore", on: players, version: 1) { player in
  Place(in: "all", by: .descending(player.score))
}
let store = try Store(at: "players.ring", indexes: [byScore])

try store.write { tx in
  try tx.put(Player(name: "Arthur", score: 100), for: "1", in: players)
  try tx.put(Player(name: "Barbara", score: 1000), for: "2", in: players)
}

let best = try store.snapshot().index("byScore").rows(in: "all", 0..<10)
print(try best.map { try players.decode($0).name })

for try await change in store.changes(of: Mappings(of: "byScore", groups: ["all"])) {
  print(change.after.rowCount, "players;", change.changeset.count, "changes")
  // snippet.hide
  precondition(change.isReset && change.after.rowCount == 2 && best.first?.key == "2")
  break
  // snippet.show
}
