// The departures board of a server, live; see docs/server.md. Here a transport in memory stands in
// for the network, with the service of a server behind it.

// snippet.show
import Foundation
// snippet.hide
import TreeRing
import TreeRingLive
// snippet.show
import TreeRingMappings
import TreeRingRemote

struct Departure: Codable { var airport: String, time: String, gate: String }

// snippet.hide
/// Begins the folder of a new replica with a copy of a server's store.
func copyStore(of server: URL) async throws {
  try await Store.restore(from: server, to: "shop.ring")
}

/// Answers requests by a service in this process.
struct LocalServer: HTTPTransport {
  let service: LiveService

  func send(_ request: HTTPRequest) -> AsyncThrowingStream<HTTPAnswer, any Error> {
    AsyncThrowingStream { answer in
      answer.yield(.head(status: 200, headers: ["content-type": "text/event-stream"]))
      let sending = Task {
        let session = try service.session(for: LiveAccess(.read), messages: request.body ?? [])
        while !Task.isCancelled {
          while let message = session.nextMessage() {
            answer.yield(.bytes(Array("data: ".utf8) + message + Array("\n\n".utf8)))
          }
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      answer.onTermination = { _ in sending.cancel() }
    }
  }
}

/// Stands in for a table view.
@MainActor
struct Table {
  func apply(_ change: Change) { print(change.isReset ? "all" : "\(change.changeset.count)") }
}
let table = Table()

let flights = Bucket<Departure>("flights")
let store = try Store.inMemory()
try store.define(
  "departures", FieldIndex(bucket: "flights", group: "airport", order: [.init("time")]))
try store.write { tx in
  try tx.put(Departure(airport: "JFK", time: "08:00", gate: "B2"), for: "UA1", in: flights)
}

/// Stands in for the app's sign-in.
func signIn() async throws -> String { "token" }

// snippet.show
guard let server = URL(string: "https://store.example.org") else { exit(1) }
var request = RemoteRequest("departures", groups: ["JFK", "LGA"])
request.ranges["JFK"] = .fixed(length: 20)
var options = RemoteOptions { _ in try await signIn() }
// snippet.hide
options.transport = LocalServer(service: LiveService(store))
// snippet.show
let departures = try RemoteMappings(request, at: server, options: options)

for try await change in departures.changes {  // the whole window, then minimal changes
  table.apply(change)
  for row in change.rows.updates.map(\.row) {
    let departure = try change.after.decode(Departure.self, of: row)
    print("Now at gate", departure?.gate ?? "unknown")
  }
  // snippet.hide
  if !change.isReset { break }
  try store.write { tx in
    try tx.put(Departure(airport: "JFK", time: "08:00", gate: "B7"), for: "UA1", in: flights)
  }
  // snippet.show
}

try departures.extendRange(of: "JFK", by: 20)
try departures.seek(.tag("yesterday"))  // by a minimal change, and back
try departures.live()
// snippet.hide
departures.close()
