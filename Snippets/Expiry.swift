// Expiry: rows vanish at a date of theirs.
import Foundation
import TreeRing

struct Session: Codable { var user: String, expires: Date, lastUse: Date }
let sessions = Bucket<Session>("sessions")
let store = try Store.inMemory()
let now = Date()

// snippet.show
let expiry = try Expiry(on: sessions, field: "expires")
try store.define("expiry", expiry)

try store.write { tx in
  let session = Session(user: "ann", expires: now + 3600, lastUse: now)
  try tx.put(session, for: "s1", in: sessions)
}
let next = try store.snapshot().index("expiry").first(in: Expiry.group)
// snippet.hide
precondition(next?.key == "s1")
try store.write { tx in
  try tx.put(Session(user: "bob", expires: now - 1, lastUse: now), for: "s2", in: sessions)
}
let count = try store.snapshot().count(in: sessions)
precondition(count == 1)

let idle = GroupIndex("idle", on: sessions, version: 1, expires: { $0.lastUse + 3600 })
try store.register(idle)
