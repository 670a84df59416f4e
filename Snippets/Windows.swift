// A live window without a network.
// snippet.show
import TreeRing
import TreeRingLive

struct Flight: Codable { var origin: String, scheduled: String }

let flights = Bucket<Flight>("flights")
let departures = GroupIndex("departures", on: flights, version: 1) { flight in
  Place(in: flight.origin, by: .ascending(flight.scheduled))
}
let store = try Store(at: "flights.ring", indexes: [departures])
try store.write { tx in
  try tx.put(Flight(origin: "JFK", scheduled: "08:00"), for: "UA1", in: flights)
}

let service = LiveService(store)
let session = service.session(for: LiveAccess(.read))
let request = #"{"open":"d","index":"departures","groups":["JFK"],"ranges":{"JFK":"fixed:20"}}"#
session.receive(Array(request.utf8))
func send() {
  while let message = session.nextMessage() { print(String(decoding: message, as: UTF8.self)) }
}
send()  // the whole window

try store.write { tx in
  try tx.put(Flight(origin: "JFK", scheduled: "07:50"), for: "B64", in: flights)
}
send()  // the change
