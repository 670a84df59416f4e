// Sums of a field of an index: of groups and of ranges of its order, at every commit.
import TreeRing

struct Order: Codable { var customer: String, day: Int, amount: Double }
let orders = Bucket<Order>("orders")
let store = try Store.inMemory()

// snippet.show
try store.define(
  "ByCustomer",
  FieldIndex(on: orders, group: "customer", order: [.init("day")]).summing("amount", decimals: 2))
let byCustomer = Index(
  named: "ByCustomer", on: orders, group: String.self, by: .ascending(Int.self))

let written = try store.write { tx in
  try tx.put(Order(customer: "ann", day: 1, amount: 12.5), for: "a1", in: orders)
  try tx.put(Order(customer: "ann", day: 5, amount: 0.75), for: "a2", in: orders)
  try tx.put(Order(customer: "bob", day: 5, amount: -3), for: "b1", in: orders)
}
try store.write { tx in try tx.delete("a1", in: orders) }

let now = try store.snapshot()[byCustomer].sum(in: "ann")  // 0.75
let then = try store.snapshot(at: .commit(written.commit))[byCustomer]
let total = try then.sum(in: "ann")  // 13.25
let early = try then.sum(in: "ann", where: .before(3))  // 12.50
let all = try then.untyped.sum()  // 10.25
// snippet.hide
precondition("\(now) \(total) \(early) \(all)" == "0.75 13.25 12.50 10.25")

let days = {
  let days = try FieldIndex(on: orders, group: "customer", order: []).summing("day")
  try store.define("Days", days)
  let sum = try store.snapshot().index("Days").sum(in: "ann")
  return sum
}
let sumOfDays = try days()
precondition(sumOfDays.units == 5)
