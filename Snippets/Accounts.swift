// An event-sourced aggregate with retries, and a projection of its category; see docs/streams.md.

// snippet.show
import Foundation
import TreeRing
import TreeRingStreams

struct Deposited: StreamEvent { var cents: Int }
struct Withdrawn: StreamEvent { var cents: Int }
struct Overdrawn: Error { var balance: Int }

/// An account as its events have made it.
struct Account {
  var balance = 0
  mutating func apply(_ event: RecordedEvent) throws {
    if let deposited = try event.decode(as: Deposited.self) { balance += deposited.cents }
    if let withdrawn = try event.decode(as: Withdrawn.self) { balance -= withdrawn.cents }
  }
}

/// Moves money between two accounts in one commit. A repetition under the same ids does nothing.
func transfer(
  _ cents: Int, from source: String, to target: String, ids: (UUID, UUID), in store: Store
) throws {
  try store.write { tx in
    let (payer, payee) = (tx.stream("account-" + source), tx.stream("account-" + target))
    if try !tx.events(withID: ids.0).isEmpty { return }
    var account = Account()
    for event in try payer.reader.events() { try account.apply(event) }
    guard account.balance >= cents else { throw Overdrawn(balance: account.balance) }
    try payer.append([NewEvent(Withdrawn(cents: cents), id: ids.0)])
    try payee.append([NewEvent(Deposited(cents: cents), id: ids.1)])
  }
}

let store = try Store(at: "bank.ring")
try store.stream("account-emma").append(NewEvent(Deposited(cents: 500)))
let ids = (UUID(), UUID())
for _ in 1...2 { try transfer(300, from: "emma", to: "noah", ids: ids, in: store) }

/// The sum of all balances: a projection, which keeps the position that it has seen.
var total = 0
var seen: EventPosition?
for event in try store.category("account").events(after: seen) {
  var account = Account()
  try account.apply(event)
  total += account.balance
  seen = event.position
}
print(total)  // 500
// snippet.hide
precondition(total == 500 && seen != nil)
let noah = try store.stream("account-noah").info()
precondition(noah.count == 1)
