// Trips of the future by their beginning; see docs/coming-from/swiftdata.md and core-data.md.
// snippet.show
import Foundation
import TreeRing

struct Trip: Codable { var destination: String, start: Date }

let trips = Bucket<Trip>("trips")
let byStart = GroupIndex("byStart", on: trips, version: 1) { trip in
  Place(in: "all", by: .ascending(trip.start))
}
let store = try Store(at: "trips.ring", indexes: [byStart])

let rome = Trip(destination: "Rome", start: Date() + 86_400)
try store.write { tx in try tx.put(rome, for: Key(UUID().uuidString), in: trips) }

/// The trips that have not begun, the next one first.
func upcoming() throws -> [Trip] {
  let index = try store.snapshot().index("byStart")
  let now = Date()
  let first = try index.firstIndex(in: "all") { try trips.decode($0).start > now }
  return try index.rows(in: "all", first..<index.count(in: "all")).map(trips.decode)
}
print(try upcoming().map(\.destination))
