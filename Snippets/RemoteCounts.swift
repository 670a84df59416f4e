// Counts and sums of a server's store; see docs/server.md. Here a transport in memory stands in for
// the network, with the service of a server behind it.

// snippet.show
import Foundation
// snippet.hide
import TreeRing
import TreeRingLive
// snippet.show
import TreeRingRemote

// snippet.hide
struct Order: Codable { var customer: String, day: Int, amount: Double }

/// Answers requests by a service in this process.
struct LocalServer: HTTPTransport {
  let service: LiveService

  func send(_ request: HTTPRequest) -> AsyncThrowingStream<HTTPAnswer, any Error> {
    AsyncThrowingStream { answer in
      let query = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?
        .percentEncodedQuery
      let found = service.answer(
        LiveRequest(path: request.url.path, query: query ?? ""), for: LiveAccess(.read))
      answer.yield(.head(status: found.status, headers: [:]))
      answer.yield(.bytes(found.body))
      answer.finish()
    }
  }
}

let orders = Bucket<Order>("orders")
let store = try Store.inMemory()
try store.define(
  "ByCustomer",
  FieldIndex(on: orders, group: "customer", order: [.init("day")]).summing("amount", decimals: 2))
try store.write { tx in
  try tx.put(Order(customer: "ann", day: 1, amount: 12.5), for: "a1", in: orders)
  try tx.put(Order(customer: "ann", day: 5, amount: 120), for: "a2", in: orders)
}

// snippet.show
guard let server = URL(string: "https://store.example.org/#token=secret") else { exit(1) }
var options = RemoteOptions()
// snippet.hide
options.transport = LocalServer(service: LiveService(store))
// snippet.show
let shop = try RemoteStore(at: server, options: options)
let late = try await shop.count(in: "orders", where: ["amount>100", "day>3"])
let ann = try await shop.sum(of: "ByCustomer", in: "ann", from: "1", to: "5")
print(late.count, ann.sum)  // 1 12.50
