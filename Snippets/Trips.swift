// Trips of the future by their beginning; see docs/coming-from/swiftdata.md and core-data.md.
// snippet.show
import Foundation
import TreeRing

struct Trip: Codable { var destination: String, start: Date }

let trips = Bucket<Trip>("trips")
let byStart = Index(
  "byStart", on: trips, version: 1, group: { _ in "all" }, by: .ascending(\.start))
let store = try Store(at: "trips.ring", indexes: [byStart])

let rome = Trip(destination: "Rome", start: Date() + 86_400)
try store.write { tx in try tx.put(rome, for: Key(UUID().uuidString), in: trips) }

/// The trips that have not begun, the next one first.
func upcoming() throws -> [Trip] {
  try store.snapshot()[byStart].rows(in: "all", where: .after(Date()))
}
print(try upcoming().map(\.destination))
