// The events of children: against a naive model that sorts everything again after each event.

import TestSupport
import Testing

@testable import TreeRingCollections
@testable import TreeRingFirebase

/// A list that a user keeps from child events alone.
struct EventList {
  private(set) var children: [FirebaseChild] = []
  private(set) var flaws: [String] = []

  mutating func apply(_ events: [FirebaseChildEvent]) {
    for event in events {
      switch event {
      case .added(let child, let previous): insert(child, after: previous, "added")
      case .moved(let child, let previous):
        remove(child.key, "moved")
        insert(child, after: previous, "moved")
      case .changed(let child):
        guard let index = children.firstIndex(where: { $0.key == child.key }) else {
          flaws.append("\(child.key) changed and is not there")
          continue
        }
        children[index] = child
      case .removed(let child): remove(child.key, "removed")
      }
    }
  }

  private mutating func remove(_ key: FirebaseKey, _ verb: String) {
    guard let index = children.firstIndex(where: { $0.key == key }) else {
      return flaws.append("\(key) was \(verb) and is not there")
    }
    children.remove(at: index)
  }

  private mutating func insert(_ child: FirebaseChild, after: FirebaseKey?, _ verb: String) {
    if children.contains(where: { $0.key == child.key }) { flaws.append("\(child.key) is twice") }
    guard let after else { return children.insert(child, at: 0) }
    guard let index = children.firstIndex(where: { $0.key == after }) else {
      return flaws.append("\(child.key) was \(verb) after \(after), which is not there")
    }
    children.insert(child, at: index + 1)
  }
}

@Suite struct ChildWindowTests {
  @Test(arguments: seeds(1...60)) func eventsLeadToTheSortedChildren(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (order, plain) = random.pick(OrderTests.orders)
    var query = FirebaseQuery(order)
    if random.chance(2), order != .key { query = query.starting(at: 0).ending(at: "a") }
    if order == .key, random.chance(2) { query = query.starting(at: "10") }
    let interval = OrderInterval(query)
    var window = ChildWindow(order, interval)
    var model = PlainTree()
    var list = EventList()
    for _ in 0..<40 {
      var edits: [TreeEvent.Replacement] = []
      let count = random.chance(3) ? Int.random(in: 2...4, using: &random) : 1
      for _ in 0..<count {
        let depth = random.chance(10) ? 0 : Int.random(in: 1...3, using: &random)
        let place = (0..<depth).map { _ in random.key() }
        let data = random.data(depth: depth == 0 ? 4 : 2)
        model.put(data, at: place)
        edits.append(TreeEvent.Replacement(path: try path(place), node: try data.node()))
      }
      let before = list.children
      let events = window.apply(edits).events
      list.apply(events)
      let tree = try model.data(at: []).node()
      let expected = try plain.keys(model, []).map { key in
        FirebaseChild(key: try FirebaseKey(key), node: tree[key])
      }.filter { interval.contains(ChildPosition($0, in: order).orderBytes) }
      #expect(window.children.map(\.data) == expected, "\(order), seed \(seed)")
      #expect(list.children == expected, "\(order), seed \(seed)")
      check(events, before: before)
    }
    #expect(list.flaws.isEmpty, "seed \(seed)")
  }

  /// Checks that no event is superfluous, and none comes twice.
  private func check(_ events: [FirebaseChildEvent], before: [FirebaseChild]) {
    let old = Dictionary(uniqueKeysWithValues: before.map { ($0.key, $0.node) })
    var seen: Set<String> = []
    for event in events {
      switch event {
      case .added(let child, _):
        #expect(old[child.key] == nil && seen.insert("added \(child.key)").inserted)
      case .changed(let child):
        #expect(old[child.key] != child.node && seen.insert("changed \(child.key)").inserted)
      case .moved(let child, _):
        #expect(old[child.key] != child.node && seen.insert("moved \(child.key)").inserted)
      case .removed(let child):
        #expect(old[child.key] == child.node && seen.insert("removed \(child.key)").inserted)
      }
    }
  }

  @Test func aMoveCarriesItsPreviousSiblingAndAChange() throws {
    var window = ChildWindow(.priority, OrderInterval(FirebaseQuery(.priority)))
    func put(_ path: String, _ json: String) throws -> [FirebaseChildEvent] {
      try window.apply([
        TreeEvent.Replacement(path: FirebasePath(path), node: FirebaseNode(json: json.utf8))
      ]).events
    }
    func child(_ key: String, _ json: String) throws -> FirebaseChild {
      FirebaseChild(key: try FirebaseKey(key), node: try FirebaseNode(json: json.utf8))
    }
    let added = try put(
      "/", #"{"a": {".value": 1, ".priority": 1}, "b": {".value": 2, ".priority": 2}}"#)
    let a = try child("a", #"{".value": 1, ".priority": 1}"#)
    let b = try child("b", #"{".value": 2, ".priority": 2}"#)
    #expect(added == [.added(a, previous: nil), .added(b, previous: a.key)])
    let moved = try child("a", #"{".value": 1, ".priority": 3}"#)
    #expect(
      try put("/a/.priority", "3") == [.moved(moved, previous: b.key), .changed(moved)])
    #expect(try put("/a/.priority", "3") == [])
    #expect(try put("/b", "null") == [.removed(b)])
  }
}
