// Sums of a number that a closure or a key path gives, in indexes that are defined in code.
import Foundation
import TreeRing

struct Money: Codable { var cents: Int }
struct Order: Codable { var customer: String, day: Int, amount: Decimal?, fee: Money }
let orders = Bucket<Order>("orders")
let store = try Store.inMemory()

extension Money: SummableValue {
  func exactUnits(decimals: Int) -> Int64? { cents.exactUnits(decimals: decimals - 2) }
}

let byCustomer = Index(
  "ByCustomer", on: orders, version: 1, group: \.customer, by: .ascending(\.day)
).summing(decimals: 2, \.amount)

func closure() -> GroupIndex {
  let byCustomer = GroupIndex("ByCustomer", on: orders, version: 1) { order in
    Place(in: order.customer, by: .ascending(order.day))
  }.summing(in: orders, decimals: 2) { $0.amount }
  return byCustomer
}

func sum(_ snapshot: Snapshot) throws -> IndexSum {
  let sum = try snapshot[byCustomer].sum(in: "ann")
  return sum
}

// snippet.show
let amounts = Index(
  "Amounts", on: orders, version: 1, group: \.customer, by: .ascending(\.day)
).summing(decimals: 2, \.amount)
let fees = GroupIndex("Fees", on: orders, version: 1) { order in
  Place(in: order.day < 3 ? "early" : "late")
}.summing(in: orders, decimals: 2) { $0.fee }
try store.register(amounts)
try store.register(fees)

try store.write { tx in
  let money = Money(cents: 25)
  try tx.put(Order(customer: "ann", day: 1, amount: 12.5, fee: money), for: "a1", in: orders)
  try tx.put(Order(customer: "ann", day: 5, amount: nil, fee: money), for: "a2", in: orders)
}
let ann = try store.snapshot()[amounts].sum(in: "ann", where: .before(3))  // 12.50
let all = try store.snapshot().index("Fees").sum()  // 0.50
// snippet.hide
precondition("\(ann) \(all)" == "12.50 0.50")
try store.register(closure())
let sumOfAnn = try sum(store.snapshot())
precondition(sumOfAnn.description == "12.50")
