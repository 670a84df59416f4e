// Reading, comparing and restoring earlier commits.
import TreeRing

struct Price: Codable, Equatable { var cents: Int }
let prices = Bucket<Price>("prices")
let store = try Store.inMemory()
try store.write { tx in
  try tx.put(Price(cents: 80), for: "tea", in: prices)
  try tx.put(Price(cents: 250), for: "cake", in: prices)
}
// snippet.show
// Name a commit, and make another.
try store.write { tx in
  try tx.put(Price(cents: 90), for: "tea", in: prices)
  try tx.tag("spring", commit: tx.commit)
}
let summer = try store.write { tx in
  try tx.put(Price(cents: 95), for: "tea", in: prices)
  try tx.delete("cake", in: prices)
}

// Read any commit, by name, number or date. A snapshot never changes.
let spring = try store.snapshot(at: .tag("spring"))
print(try spring.get("tea", in: prices) ?? Price(cents: 0))  // Price(cents: 90)

// Read one row of the past without the rest of its state.
let price = try store.get("tea", in: prices, at: .tag("spring"))

// Compare two commits.
for difference in try store.snapshot().diff(from: spring) {
  print(difference.id, difference.after == nil ? "deleted" : "changed")
}

// List the versions of a row.
for version in try store.history(of: "tea", in: prices) {
  print(version.commit, version.kind, try prices.decode(version)?.cents ?? 0)
}

// Restore an earlier state by a new commit.
try store.revert(to: .tag("spring"))
print(try store.snapshot().get("cake", in: prices) ?? Price(cents: 0))  // Price(cents: 250)
// snippet.hide
precondition(price == Price(cents: 90))
let tea = try store.snapshot().get("tea", in: prices)
precondition(tea == Price(cents: 90))
precondition(store.newestCommit > summer.commit)
