// A second process that reads a store while another writes it, and handles every commit once.
import TreeRing

struct Order: Codable { var item: String, isPaid = false }

let orders = Bucket<Order>("orders")
let writer = try Store(at: "shop.ring")
for number in 1...3 {
  try writer.write { tx in try tx.put(Order(item: "tea"), for: Key("\(number)"), in: orders) }
}
var handled: [String] = []
@MainActor func handle(_ difference: RowDifference) {
  handled.append(difference.id.key.description)
}

// snippet.show
// In the process that follows; the writer needs to know nothing of it.
let store = try Store(at: "shop.ring", options: StoreOptions(mode: .readOnly))
var seen: CommitNumber = 0  // as saved by the last run

for try await commit in store.commits(from: seen + 1) {
  let before = try store.snapshot(at: .commit(commit.number - 1))
  let after = try store.snapshot(at: .commit(commit.number))
  for difference in try after.diff(from: before) where difference.id.bucket == orders.name {
    handle(difference)
  }
  seen = commit.number  // saved after the work, or together with it
  // snippet.hide
  if seen == 3 { break }
  // snippet.show
}
// snippet.hide
precondition(handled == ["1", "2", "3"])
