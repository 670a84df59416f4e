// Evaluates a declarative index. One pass over the object's bytes finds all fields together.
// Conditions, group and sort key are then evaluated from these values.
//
// The fields sought form a tree of member names. The walk descends only into members on the way to
// a field; it validates and skips everything else. Each field has a slot for the range of its
// value; an empty range means absent. The tree lies in flat arrays and its names in one run of
// bytes, so that the walk needs no reference counting.
//
// The walk over a binary row writes the values found as JSON, so that the rest is the same.

internal import TreeRingLog

/// The compiled fields of a declarative index.
struct FieldProgram: Sendable {
  /// A member on the way to a field.
  private struct Child: Sendable {
    /// The member's name as UTF-8, a range of `names`, and its first eight bytes.
    var name: Range<Int>
    var head: UInt64
    /// The slot for its value if it is a field itself; else -1.
    var slot = -1
    /// The node of its own members if some are on the way to a field; else -1.
    var node = -1
  }

  private struct Condition: Sendable {
    var slot: Int
    var values: [[UInt8]]
  }

  private var names: [UInt8] = []
  private var children: [Child] = []
  /// The children of each node, as a range of `children`.
  private var nodes: [Range<Int>] = []
  private var slotCount = 0
  /// The slot of the group; -1 for conditions only.
  private var groupSlot = -1
  /// Whether a row with null in the group's field is not in the index.
  var skipsNull = false
  private var conditions: [Condition] = []
  private var order: [(slot: Int, isDescending: Bool)] = []

  /// Compiles these fields. Throws `invalidInput` if a path has an empty name.
  ///
  /// - Parameter group: The field that names a row's group; nil for a program that only tests the
  ///   conditions.
  init(
    group: String?, order: [FieldIndex.Order], conditions: [FieldIndex.Condition]
  ) throws(TreeRingError) {
    var tree = FieldTree()
    if let group { groupSlot = tree.slot(of: try JSONPath(group)) }
    for field in order {
      self.order.append((tree.slot(of: try JSONPath(field.field)), field.isDescending))
    }
    for condition in conditions {
      self.conditions.append(
        Condition(
          slot: tree.slot(of: try JSONPath(condition.field)),
          values: condition.values.map { Array($0.utf8) }))
    }
    slotCount = tree.slotCount
    for node in tree.nodes {
      let start = children.count
      for child in node {
        children.append(
          Child(
            name: names.count..<names.count + child.name.count,
            head: child.name.withUnsafeBytes { CBORReader.firstEight(of: $0) },
            slot: child.slot, node: child.node))
        names += child.name
      }
      nodes.append(start..<children.count)
    }
  }

  /// Evaluates an object; returns false if the row is not in the index.
  func evaluate(_ object: UnsafeRawBufferPointer, into entry: inout FieldEntry) -> Bool {
    if CBOR.isMarked(object) { return evaluateBinary(object, into: &entry) }
    return withUnsafeTemporaryAllocation(of: Range<Int>.self, capacity: slotCount) { found in
      found.initialize(repeating: 0..<0)
      var scanner = JSONScanner(object)
      scanner.skipSpace()
      guard scanner.position < object.count, object[scanner.position] == UInt8(ascii: "{")
      else { return false }
      let isObject = withWalk { $0.walk(node: 0, depth: 0, &scanner, found) }
      scanner.skipSpace()
      guard isObject, scanner.position == object.count else { return false }
      return evaluate(object, UnsafeMutableBufferPointer(rebasing: found[...]), &entry)
    }
  }

  /// Evaluates a binary row: as above, with the values found written as JSON.
  private func evaluateBinary(
    _ row: UnsafeRawBufferPointer, into entry: inout FieldEntry
  ) -> Bool {
    withUnsafeTemporaryAllocation(of: Range<Int>.self, capacity: slotCount) { found in
      found.initialize(repeating: 0..<0)
      var json: [UInt8] = []
      swap(&json, &entry.json)
      defer { swap(&json, &entry.json) }
      json.removeAll(keepingCapacity: true)
      let start = CBOR.mark.count
      let end = withWalk { $0.walk(node: 0, depth: 0, CBORReader(row), at: start, found, &json) }
      guard end == row.count else { return false }
      return json.withUnsafeBytes {
        evaluate($0, UnsafeMutableBufferPointer(rebasing: found[...]), &entry)
      }
    }
  }

  /// Calls `body` with the JSON of each field of the order that an object has, if it fulfils the
  /// conditions. Returns whether it is an object that does.
  @discardableResult
  func forEachValue(
    of object: UnsafeRawBufferPointer, _ entry: inout FieldEntry,
    _ body: (_ field: Int, _ json: UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    withUnsafeTemporaryAllocation(of: Range<Int>.self, capacity: slotCount) { found in
      found.initialize(repeating: 0..<0)
      let slots = UnsafeMutableBufferPointer(rebasing: found[...])
      if CBOR.isMarked(object) {
        var json: [UInt8] = []
        let start = CBOR.mark.count
        let end = withWalk {
          $0.walk(node: 0, depth: 0, CBORReader(object), at: start, slots, &json)
        }
        guard end == object.count else { return false }
        return json.withUnsafeBytes { pass($0, slots, &entry, body) }
      } else {
        var scanner = JSONScanner(object)
        scanner.skipSpace()
        guard scanner.position < object.count, object[scanner.position] == UInt8(ascii: "{"),
          withWalk({ $0.walk(node: 0, depth: 0, &scanner, slots) })
        else { return false }
        scanner.skipSpace()
        return scanner.position == object.count && pass(object, slots, &entry, body)
      }
    }
  }

  private func pass(
    _ object: UnsafeRawBufferPointer, _ found: UnsafeMutableBufferPointer<Range<Int>>,
    _ entry: inout FieldEntry, _ body: (Int, UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    for index in conditions.indices {
      let value = UnsafeRawBufferPointer(rebasing: object[found[conditions[index].slot]])
      guard holds(index, value, &entry) else { return false }
    }
    for (index, field) in order.enumerated() where !found[field.slot].isEmpty {
      body(index, UnsafeRawBufferPointer(rebasing: object[found[field.slot]]))
    }
    return true
  }

  /// Fills the entry from the values found.
  private func evaluate(
    _ object: UnsafeRawBufferPointer, _ found: UnsafeMutableBufferPointer<Range<Int>>,
    _ entry: inout FieldEntry
  ) -> Bool {
    for index in conditions.indices {
      let value = UnsafeRawBufferPointer(rebasing: object[found[conditions[index].slot]])
      guard holds(index, value, &entry) else { return false }
    }
    if groupSlot < 0 { return true }
    entry.group.removeAll(keepingCapacity: true)
    let group = UnsafeRawBufferPointer(rebasing: object[found[groupSlot]])
    if skipsNull, group.first == UInt8(ascii: "n") { return false }
    guard JSONScanner.appendText(ofScalar: group, to: &entry.group) else { return false }
    entry.isGroupTooLong = !entry.group.withUnsafeBytes { GroupName.isWithinLimit($0) }
    if entry.isGroupTooLong { return false }
    entry.encoder.removeAll()
    for field in order {
      entry.encoder.appendField(
        UnsafeRawBufferPointer(rebasing: object[found[field.slot]]),
        descending: field.isDescending, scratch: &entry.text)
    }
    entry.encoder.cut()
    return true
  }

  private func holds(
    _ condition: Int, _ value: UnsafeRawBufferPointer, _ entry: inout FieldEntry
  ) -> Bool {
    guard let first = value.first, first != UInt8(ascii: "{"), first != UInt8(ascii: "[")
    else { return false }
    var text = value
    if first == UInt8(ascii: "\"") {
      text = UnsafeRawBufferPointer(rebasing: value[1..<(value.count - 1)])
      if text.contains(UInt8(ascii: "\\")) {
        entry.text.removeAll(keepingCapacity: true)
        JSONScanner.appendString(value, to: &entry.text)
        return conditions[condition].values.contains(entry.text)
      }
    }
    for index in conditions[condition].values.indices {
      let isEqual = conditions[condition].values[index].withUnsafeBytes { wanted in
        wanted.count == text.count && wanted.elementsEqual(text)
      }
      if isEqual { return true }
    }
    return false
  }

  /// Calls `body` with pointers to the tree's arrays.
  private func withWalk<R>(_ body: (Walk) -> R) -> R {
    names.withUnsafeBytes { names in
      children.withUnsafeBufferPointer { children in
        nodes.withUnsafeBufferPointer { nodes in
          body(Walk(names: names, children: children, nodes: nodes))
        }
      }
    }
  }

  /// The tree of fields during a walk.
  private struct Walk {
    let names: UnsafeRawBufferPointer
    let children: UnsafeBufferPointer<Child>
    let nodes: UnsafeBufferPointer<Range<Int>>

    /// Walks over the object at the scanner's position and records the fields found below a node.
    func walk(
      node: Int, depth: Int, _ scanner: inout JSONScanner,
      _ found: UnsafeMutableBufferPointer<Range<Int>>
    ) -> Bool {
      guard depth < JSONScanner.maximumDepth else { return false }
      scanner.position += 1
      scanner.skipSpace()
      if scanner.take(UInt8(ascii: "}")) { return true }
      repeat {
        scanner.skipSpace()
        let start = scanner.position
        scanner.passedEscape = false
        guard scanner.skipNameToken() else { return false }
        let index = child(of: node, named: start..<scanner.position, scanner)
        guard scanner.expect(UInt8(ascii: ":")) else { return false }
        scanner.skipSpace()
        let value = scanner.position
        if index < 0 {
          guard scanner.skipValue(depth: depth + 1) else { return false }
          continue
        }
        let child = children[index]
        if child.node >= 0 {
          forget(node: child.node, found)
          if value < scanner.bytes.count, scanner.bytes[value] == UInt8(ascii: "{") {
            guard walk(node: child.node, depth: depth + 1, &scanner, found) else { return false }
          } else {
            guard scanner.skipValue(depth: depth + 1) else { return false }
          }
        } else {
          guard scanner.skipValue(depth: depth + 1) else { return false }
        }
        if child.slot >= 0 { found[child.slot] = value..<scanner.position }
      } while isComma(&scanner)
      return scanner.expect(UInt8(ascii: "}"))
    }

    /// Walks over the map at an offset of a binary row, appends the values of the fields found
    /// below a node as JSON, and records their ranges there.
    ///
    /// - Returns: the offset behind the map; -1 if it is malformed, nested too deeply or another
    ///   value.
    func walk(
      node: Int, depth: Int, _ reader: CBORReader, at offset: Int,
      _ found: UnsafeMutableBufferPointer<Range<Int>>, _ json: inout [UInt8]
    ) -> Int {
      let levels = CBOR.maximumDepth - depth - 1
      guard levels >= 0, let head = reader.head(at: offset), head.kind == CBOR.Kind.map,
        let count = reader.itemCount(of: head)
      else { return -1 }
      var at = head.end
      var last: Range<Int>?
      for _ in 0..<count {
        guard let key = reader.head(at: at), key.kind == CBOR.Kind.text,
          let name = reader.contents(of: key), last.map({ reader.isAscending($0, name) }) ?? true
        else { return -1 }
        last = name
        let value = name.upperBound
        let index = child(of: node, named: name, reader.bytes)
        let node = index < 0 ? -1 : children[index].node
        let slot = index < 0 ? -1 : children[index].slot
        if slot >= 0 {
          let start = json.count
          at = reader.appendJSON(at: value, to: &json, levels: levels)
          if at < 0 { return -1 }
          found[slot] = start..<json.count
        }
        if node >= 0, reader.head(at: value)?.kind == CBOR.Kind.map {
          at = walk(node: node, depth: depth + 1, reader, at: value, found, &json)
        } else if slot < 0 {
          at = reader.skip(value, levels: levels)
        }
        if at < 0 { return -1 }
      }
      return at
    }

    @inline(__always)
    private func isComma(_ scanner: inout JSONScanner) -> Bool {
      scanner.skipSpace()
      return scanner.take(UInt8(ascii: ","))
    }

    /// The child of a node with the name of a token; -1 if there is none.
    @inline(__always)
    private func child(of node: Int, named token: Range<Int>, _ scanner: JSONScanner) -> Int {
      if scanner.passedEscape { return escapedChild(of: node, named: token, scanner) }
      return child(of: node, named: (token.lowerBound + 1)..<(token.upperBound - 1), scanner.bytes)
    }

    /// The child of a node with the name in a range; -1 if there is none.
    @inline(__always)
    private func child(
      of node: Int, named name: Range<Int>, _ bytes: UnsafeRawBufferPointer
    ) -> Int {
      let count = name.count
      let head = CBORReader(bytes).firstEight(of: name)
      for index in nodes[node] {
        let child = children[index]
        if child.head == head, child.name.count == count,
          count <= 8 || rest(of: child.name, name, bytes)
        {
          return index
        }
      }
      return -1
    }

    /// Whether two names of the same length are equal after the first eight bytes.
    private func rest(
      of name: Range<Int>, _ other: Range<Int>, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
      names[(name.lowerBound + 8)..<name.upperBound]
        .elementsEqual(bytes[(other.lowerBound + 8)..<other.upperBound])
    }

    @inline(never)
    private func escapedChild(
      of node: Int, named token: Range<Int>, _ scanner: JSONScanner
    ) -> Int {
      var text: [UInt8] = []
      JSONScanner.appendString(scanner.slice(token), to: &text)
      return nodes[node].first { names[children[$0].name].elementsEqual(text) } ?? -1
    }

    /// Clears the values of an earlier member of the same name: the last one counts.
    private func forget(node: Int, _ found: UnsafeMutableBufferPointer<Range<Int>>) {
      for index in nodes[node] {
        if children[index].slot >= 0 { found[children[index].slot] = 0..<0 }
        if children[index].node >= 0 { forget(node: children[index].node, found) }
      }
    }
  }
}

/// The fields of an index as a tree of member names, during compilation.
private struct FieldTree {
  struct Child {
    var name: [UInt8]
    var slot = -1
    var node = -1
  }

  var nodes: [[Child]] = [[]]
  var slotCount = 0

  /// The slot of a path; creates it if there is none yet.
  mutating func slot(of path: JSONPath) -> Int {
    var node = 0
    for name in path.names.dropLast() {
      let index = child(name, of: node)
      if nodes[node][index].node < 0 {
        nodes[node][index].node = nodes.count
        nodes.append([])
      }
      node = nodes[node][index].node
    }
    guard let last = path.names.last else { preconditionFailure("a path has at least one name") }
    let index = child(last, of: node)
    if nodes[node][index].slot < 0 {
      nodes[node][index].slot = slotCount
      slotCount += 1
    }
    return nodes[node][index].slot
  }

  private mutating func child(_ name: [UInt8], of node: Int) -> Int {
    if let index = nodes[node].firstIndex(where: { $0.name == name }) { return index }
    nodes[node].append(Child(name: name))
    return nodes[node].count - 1
  }
}
