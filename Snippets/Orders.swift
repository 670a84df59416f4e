// Streams of events: orders, their events, a customer's, an aggregate and a projection;
// see docs/streams.md.

// snippet.show
import Foundation
import TreeRing
import TreeRingStreams

struct OrderPlaced: StreamEvent { var item: String, count: Int }
struct OrderShipped: StreamEvent { var carrier: String }

let store = try Store(at: "shop.ring")
let order = store.stream("order-42")
let placed = try NewEvent(OrderPlaced(item: "tea", count: 2), id: UUID())
try order.append(placed, expecting: .absent)
try order.append(placed, expecting: .absent)  // a retry: the id is there, nothing is appended
try order.append(NewEvent(OrderShipped(carrier: "post")), expecting: .exactly(0))

for event in try order.events() {
  if let placed = try event.decode(as: OrderPlaced.self) { print(placed.count, placed.item) }
  if let shipped = try event.decode(as: OrderShipped.self) { print("by", shipped.carrier) }
}
// snippet.hide
let newest = try order.revision
precondition(newest == 1)

do {
  let store = try Store.inMemory()
  let order = store.stream("order-42")
  try order.append(placed, expecting: .absent)
  for event in try order.events() { print(event.revision, event.type) }

  let ordered = NewEvent(type: "Ordered", data: Array("order-42".utf8))
  try order.delete()
  try store.write { tx in
    try tx.stream("order-42").append([placed], expecting: .absent)
    try tx.stream("customer-7").append([ordered])
  }

  var count = 0
  for event in try order.events() {
    if let placed = try event.decode(as: OrderPlaced.self) { count += placed.count }
  }
  precondition(count == 2)

  var next: UInt64 = 0
  let task = Task { [next] in
    var next = next
    for try await event in order.subscribe(from: next) { next = event.revision + 1 }
    return next
  }
  while try order.revision == nil { try await Task.sleep(for: .milliseconds(1)) }
  try await Task.sleep(for: .milliseconds(50))
  task.cancel()
  next = try await task.value
  precondition(next == 2)
}
