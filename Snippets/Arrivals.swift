// The arrivals at an airport, page by page, as a live collection.
// snippet.show
import TreeRing
import TreeRingCollections

struct Flight: Codable { var number: String, dest: String, scheduled: String }

let flights = Bucket<Flight>("flights")
let byDestination = GroupIndex("arrivals", on: flights, version: 1) { flight in
  Place(in: flight.dest, by: .ascending(flight.scheduled), .ascending(flight.number))
}
let store = try Store(at: "flights.ring", indexes: [byDestination])
// snippet.hide
try store.write { tx in
  for minute in 10..<60 {
    let flight = Flight(number: "AA\(minute)", dest: "LAX", scheduled: "08:\(minute)")
    try tx.put(flight, for: Key(flight.number), in: flights)
  }
}
// snippet.show

struct Arrival: ValueModel { var identifier: String, flight: Flight }

let arrivals = LiveCollection(
  source: StoreSource(store, bucket: flights, index: "arrivals", group: "LAX"),
  options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
) { row in
  Arrival(identifier: row.key.description, flight: try flights.decode(row))
}

let page = await arrivals.load()  // the first twenty; from here on they are live
if let error = page.error { throw error }
for await change in arrivals.changes {  // the models shown, then their changes
  for flight in change.added.map(\.flight) { print(flight.scheduled, flight.number) }
  // snippet.hide
  if arrivals.count == 20 {
    let late = Flight(number: "BA1", dest: "LAX", scheduled: "08:05")
    try store.write { tx in try tx.put(late, for: "BA1", in: flights) }
  } else {
    break
  }
  // snippet.show
}
// snippet.hide
precondition(arrivals.shown.map(\.flight.number).prefix(2) == ["BA1", "AA10"])
