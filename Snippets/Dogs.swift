// A dog that gets a year older; see docs/coming-from/realm.md.
// snippet.show
import TreeRing

struct Dog: Codable { var name: String, age: Int }

let dogs = Bucket<Dog>("dogs")
let puppies = GroupIndex("puppies", on: dogs, version: 1) { dog in
  dog.age < 2 ? Place(in: "all", by: .ascending(dog.name)) : nil
}
let store = try Store(at: "dogs.ring", indexes: [puppies])

try store.write { tx in try tx.put(Dog(name: "Rex", age: 1), for: "rex", in: dogs) }
print(try store.snapshot().index("puppies").count(in: "all"))  // 1

try store.write { tx in
  guard var rex = try tx.get("rex", in: dogs) else { return }
  rex.age += 1
  try tx.put(rex, for: "rex", in: dogs)
}
print(try store.snapshot().index("puppies").count(in: "all"))  // 0
