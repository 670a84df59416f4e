// Transfers between accounts: whole or absent, and made once however often they are asked for.
// snippet.show
import TreeRing

struct Account: Codable { var cents: Int }
struct Transfer: Codable { var from: String, to: String, cents: Int }
struct Refused: Error { var reason: String }

let accounts = Bucket<Account>("accounts")
let transfers = Bucket<Transfer>("transfers")

/// Makes a transfer, unless it has been made under this id.
func make(_ transfer: Transfer, id: String, in store: Store) throws {
  try store.write { tx in
    if try tx.get(Key(id), in: transfers) != nil { return }
    try tx.add(-transfer.cents, to: transfer.from)
    try tx.add(transfer.cents, to: transfer.to)
    try tx.put(transfer, for: Key(id), in: transfers)
  }
}

extension Transaction {
  /// Changes a balance.
  fileprivate func add(_ cents: Int, to owner: String) throws {
    guard var account = try get(Key(owner), in: accounts) else {
      throw Refused(reason: "\(owner) has no account.")
    }
    account.cents += cents
    guard account.cents >= 0 else { throw Refused(reason: "\(owner) has too little.") }
    try put(account, for: Key(owner), in: accounts)
  }
}

/// Makes a transfer. If its outcome stays open, it opens the store again and repeats it.
func makeSurely(_ transfer: Transfer, id: String, at path: String, in store: inout Store)
  throws
{
  for _ in 1...3 {
    do {
      return try make(transfer, id: id, in: store)
    } catch let error as TreeRingError where [.unknown, .poisoned].contains(error.code) {
      try? store.close()
      store = try Store(at: path)
    }
  }
  throw Refused(reason: "The device does not take the transfer. It may be repeated under its id.")
}
// snippet.hide
var store = try Store(at: "bank.ring")
try store.write { tx in
  try tx.put(Account(cents: 500), for: "emma", in: accounts)
  try tx.put(Account(cents: 0), for: "noah", in: accounts)
}
let rent = Transfer(from: "emma", to: "noah", cents: 300)
for _ in 1...2 { try makeSurely(rent, id: "rent 11/2026", at: "bank.ring", in: &store) }
do {
  try make(rent, id: "rent 12/2026", in: store)
  preconditionFailure()
} catch let refused as Refused {
  print(refused.reason)
}
let own = Transfer(from: "noah", to: "noah", cents: 100)
try make(own, id: "own", in: store)
let all = try store.snapshot().rows(in: accounts).map(\.row.cents)
precondition(all == [200, 300])
