// A unique index: a second row with the value of another is refused.
import TreeRing

struct Member: Codable { var name: String, email: String }
let members = Bucket<Member>("members")
let store = try Store.inMemory()
try store.write { tx in
  try tx.put(Member(name: "Ann", email: "ann@x.org"), for: "ann", in: members)
}

// snippet.show
let byEmail = try FieldIndex(on: members, group: "email", order: []).unique()
try store.define("ByEmail", byEmail)

do {
  try store.write { tx in
    try tx.put(Member(name: "Bob", email: "ann@x.org"), for: "bob", in: members)
  }
} catch let error as TreeRingError where error.code == .notUnique {
  print(error.violation?.other?.key ?? "?")  // ann
}
let owner = try store.snapshot().index("ByEmail").first(in: "ann@x.org")
// snippet.hide
precondition(owner?.key == "ann" && owner?.bucket == "members")

let coded = {
  let byEmail = GroupIndex("ByEmail", on: members, version: 1) { member in
    Place(in: member.email.lowercased())
  }.unique()
  return byEmail
}()
try store.register(GroupIndex("Names", on: members, version: 1) { Place(in: $0.name) }.unique())
precondition(coded.isUnique)
