// Two replicas of a store over a log that they share; one takes over from the other.
// snippet.show
import TreeRing
import TreeRingReplication

let notes = Bucket<String>("notes")
let log = try FileLog(at: "shared.log")
let berlin = try Replica(at: "berlin.ring", of: log, options: ReplicaOptions(name: "berlin"))
let hamburg = try Replica(at: "hamburg.ring", of: log, options: ReplicaOptions(name: "hamburg"))

try berlin.lead()
try berlin.store.write { tx in try tx.put("buy tea", for: "1", in: notes) }
try hamburg.catchUp()
let note = try hamburg.store.snapshot().get("1", in: notes)
print(note ?? "none")  // buy tea

try hamburg.lead()
do {
  try berlin.store.write { tx in try tx.delete("1", in: notes) }
} catch let error as TreeRingError where error.code == .notLeader {
  print("hamburg leads now; nothing was deleted")
}
// snippet.hide
precondition(note == "buy tea" && hamburg.status.isLeading && !berlin.status.isLeading)
try berlin.close()
try hamburg.close()
try log.close()
