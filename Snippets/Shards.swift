// Keys spread over four stores.
// snippet.show
import TreeRing
import TreeRingReplication

struct Customer: Codable { var name: String }

let customers = Bucket<Customer>("customers")
let options = ShardsOptions(replica: ReplicaOptions(name: "berlin"))
let shards = try Shards(at: "data", options: options) { name in try FileLog(at: "log-\(name)") }
try shards.create(["s0", "s1", "s2", "s3"], places: ["berlin"])

let store = try shards.store(for: "customer-42")
try store.write { tx in
  try tx.put(Customer(name: "Ann"), for: "customer-42", in: customers)
}
// snippet.hide
let found = try store.snapshot().get("customer-42", in: customers)
precondition(found?.name == "Ann")
try shards.close()
