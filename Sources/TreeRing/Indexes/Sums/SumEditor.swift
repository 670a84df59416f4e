// Edits of an index with sums. A summand stands in the row's entry of the order tree; the nodes
// above it (SumNodes.swift) follow each change. Values were checked when their pages were fetched,
// so a node that cannot be decoded counts as 0 here, and `verify` reports it.

internal import TreeRingLog

extension IndexEditor {
  /// Replaces a row's places and summands, given in group order. Edits only the differences.
  func replace(
    _ roots: inout IndexRoots, bucket: UInt32, key: UnsafeRawBufferPointer, prefix: [UInt8],
    old: [EncodedPlace], new: [EncodedPlace], summands: SummandChange
  ) {
    for place in old where !new.contains(place) {
      let entry = Self.entry(place, bucket: bucket, key: key)
      removeNodes(of: entry.key, summands.old, from: &roots)
      remove(entry.key, from: &roots.order)
      if !new.contains(where: { $0.group == place.group }) {
        remove(prefix + place.group.bytes, from: &roots.places)
      }
    }
    for place in new {
      let isOld = old.contains(place)
      if isOld, summands.old == summands.new { continue }
      var entry = Self.entry(place, bucket: bucket, key: key)
      summands.new.append(to: &entry.value)
      put(entry.key, entry.value, into: &roots.order)
      if isOld {
        var change = PartialSum(summands.new)
        change -= PartialSum(summands.old)
        for level in stride(from: 1, through: nodes(of: roots).topLevel, by: 1) {
          add(change, at: entry.key, level, in: &roots)
        }
      } else {
        put(prefix + place.group.bytes, place.sortKey, into: &roots.places)
        insertNodes(of: entry.key, summands.new, into: &roots)
      }
    }
  }

  /// The summand of a row in a place where the index has it. O(log n).
  /// - Throws: `corruption` if the entry is not there or damaged.
  func summand(
    in roots: IndexRoots, at place: EncodedPlace, bucket: UInt32, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> Summand {
    let entry = Self.entry(place, bucket: bucket, key: key)
    let order = Tree(roots.order, pages: editor.pages)
    let summand = entry.key.withUnsafeBytes { key in
      order.value(of: key).flatMap { Summand(orderValue: $0) }
    }
    guard let summand else { throw ByteReader.damaged }
    return summand
  }

  private func nodes(of roots: IndexRoots) -> SumNodes {
    SumNodes(
      order: Tree(roots.order, pages: editor.pages),
      places: Tree(roots.places, pages: editor.pages))
  }

  /// Divides the nodes around a new entry, which is in the order tree already.
  private func insertNodes(of key: [UInt8], _ summand: Summand, into roots: inout IndexRoots) {
    let own = key.withUnsafeBytes { SumKey.level(of: $0) }
    for level in stride(from: 1, through: max(own, nodes(of: roots).topLevel), by: 1) {
      var change = PartialSum(summand)
      guard level <= own else {
        add(change, at: key, level, in: &roots)
        continue
      }
      let known = nodes(of: roots)
      let next = known.firstNode(level, from: key, after: true)
      let sum = known.items(of: level - 1, from: key, to: next) ?? PartialSum()
      change -= sum
      add(change, at: key, level, in: &roots)
      put(SumKey.node(level, key), sum.encoded, into: &roots.places)
    }
  }

  /// Joins the nodes around an entry with those before them.
  private func removeNodes(of key: [UInt8], _ summand: Summand, from roots: inout IndexRoots) {
    let own = key.withUnsafeBytes { SumKey.level(of: $0) }
    for level in stride(from: 1, through: max(own, nodes(of: roots).topLevel), by: 1) {
      var change = PartialSum()
      if level <= own {
        let node = SumKey.node(level, key)
        let places = Tree(roots.places, pages: editor.pages)
        let sum = node.withUnsafeBytes { node in
          places.value(of: node).flatMap { PartialSum(node: $0) }
        }
        change = sum ?? PartialSum()
        remove(node, from: &roots.places)
      }
      change -= PartialSum(summand)
      add(change, at: key, level, in: &roots)
    }
  }

  /// Adds a change to the node of a level around a key, if there is one. O(log n).
  private func add(
    _ change: PartialSum, at key: [UInt8], _ level: Int, in roots: inout IndexRoots
  ) {
    if change.isNothing { return }
    guard var node = nodes(of: roots).node(level, atOrBefore: key) else { return }
    node.sum += change
    put(SumKey.node(level, node.key), node.sum.encoded, into: &roots.places)
  }

  /// Makes the nodes of an order tree that is complete. O(n).
  func buildNodes(
    _ roots: inout IndexRoots, _ spill: SpillAction?
  ) throws(TreeRingError) {
    /// The node of each level, from 1 on, around the entries that come next.
    var open: [(key: [UInt8], sum: PartialSum)?] = []
    let order = Tree(roots.order, pages: editor.pages)
    var rest = 0..<order.count
    while !rest.isEmpty {
      var done: [(key: [UInt8], value: [UInt8])] = []
      let part = rest.prefix(StateReader.sectionEntryCount)
      try editor.pages.read { () throws(TreeRingError) in
        try order.forEach(in: part) { (key, value) throws(TreeRingError) in
          guard let summand = Summand(orderValue: value) else { throw ByteReader.damaged }
          for level in stride(from: 1, through: SumKey.level(of: key), by: 1) {
            while open.count < level { open.append(nil) }
            if let node = open[level - 1] {
              done.append((SumKey.node(level, node.key), node.sum.encoded))
            }
            open[level - 1] = (Array(key), PartialSum())
          }
          if summand == .nothing { return true }
          for index in open.indices { open[index]?.sum += PartialSum(summand) }
          return true
        }
      }
      rest = rest.dropFirst(part.count)
      for node in done { put(node.key, node.value, into: &roots.places) }
      try spill?(editor)
    }
    for (index, node) in open.enumerated() {
      guard let node else { continue }
      put(SumKey.node(index + 1, node.key), node.sum.encoded, into: &roots.places)
    }
  }
}

/// The summand of a row in an index, before and after a change.
struct SummandChange: Hashable {
  var old = Summand.nothing
  var new = Summand.nothing
}
