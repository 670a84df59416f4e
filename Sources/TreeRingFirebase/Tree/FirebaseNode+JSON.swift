// JSON to nodes and back, by Firebase's rules: nulls vanish, arrays are children by number,
// `.value` and `.priority` are parts of a node. The text comes from the network: everything is
// checked.

internal import Foundation
internal import TreeRing
internal import TreeRingLog

extension FirebaseNode {
  /// The greatest depth of a tree. Firebase allows no deeper one.
  package static let largestDepth = 32

  /// A node of JSON text, in either of Firebase's formats: plain, or with `.value` and `.priority`.
  /// O(bytes · depth).
  /// - Throws: `malformed` if the text is no JSON, or no data of Firebase.
  public init(json: some Collection<UInt8>) throws(FirebaseError) {
    let bytes = Array(json)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(FirebaseError) in
        try NodeReader(bytes).wholeNode()
      }
    }
    self = try result.get()
  }

  /// The JSON text, as Firebase renders it: children by number are an array if at least half of its
  /// elements exist. Priorities are left out. O(n log n).
  public var json: [UInt8] {
    var output: [UInt8] = []
    append(to: &output, exporting: false)
    return output
  }

  /// The JSON text of Firebase's export format: with `.value` and `.priority`, without arrays.
  /// O(n log n).
  public var exportedJSON: [UInt8] {
    var output: [UInt8] = []
    append(to: &output, exporting: true)
    return output
  }

  /// Decodes the node from its JSON text. Firebase stores arrays as children by number, and does
  /// not tell a dictionary with such keys from an array. O(n log n).
  /// - Throws: A `DecodingError`.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(json))
  }

  private func append(to output: inout [UInt8], exporting: Bool) {
    let hasPriority = exporting && priority != .null
    switch value {
    case .scalar(let scalar):
      if hasPriority { output += #"{".value":"#.utf8 }
      scalar.appendJSON(to: &output)
      if hasPriority {
        output += #",".priority":"#.utf8
        priority.appendJSON(to: &output)
        output.append(UInt8(ascii: "}"))
      }
    case .children(let children):
      if !exporting, let elements = Self.elements(children) {
        return Self.append(elements, to: &output)
      }
      output.append(UInt8(ascii: "{"))
      if hasPriority {
        output += #"".priority":"#.utf8
        priority.appendJSON(to: &output)
      }
      for (index, child) in self.children.enumerated() {
        if index > 0 || hasPriority { output.append(UInt8(ascii: ",")) }
        JSONScanner.appendQuoted(child.key.text, to: &output)
        output.append(UInt8(ascii: ":"))
        child.node.append(to: &output, exporting: exporting)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  private static func append(_ elements: [FirebaseNode], to output: inout [UInt8]) {
    output.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      element.append(to: &output, exporting: false)
    }
    output.append(UInt8(ascii: "]"))
  }

  /// The children as an array with null for missing ones; nil if they are none: if a key is no
  /// number, or the largest one is at least twice the count.
  private static func elements(_ children: [FirebaseKey: FirebaseNode]) -> [FirebaseNode]? {
    var numbered: [(Int, FirebaseNode)] = []
    for (key, child) in children {
      guard let index = key.arrayIndex, index < 2 * children.count else { return nil }
      numbered.append((index, child))
    }
    let last = numbered.map(\.0).max() ?? 0
    var elements = Array(repeating: FirebaseNode.null, count: last + 1)
    for (index, child) in numbered { elements[index] = child }
    return elements
  }
}

extension FirebaseScalar {
  package func appendJSON(to output: inout [UInt8]) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let value): output += (value ? "true" : "false").utf8
    case .number(let number):
      // A whole number has no fraction, so that it can be decoded as an integer.
      if let whole = Int64(exactly: number), whole.magnitude < 1 << 53 {
        output += String(whole).utf8
      } else {
        output += "\(number)".utf8
      }
    case .text(let text): JSONScanner.appendQuoted(text, to: &output)
    }
  }

  /// The JSON text.
  package var json: String {
    var output: [UInt8] = []
    appendJSON(to: &output)
    return String(decoding: output, as: UTF8.self)
  }
}

/// Reads nodes from JSON text. The bytes must stay valid.
package struct NodeReader {
  private let bytes: UnsafeRawBufferPointer
  /// Collects placeholders for server values; nil if the text may have none.
  private let serverValues: ServerValues?

  package init(_ bytes: UnsafeRawBufferPointer, serverValues: ServerValues? = nil) {
    self.bytes = bytes
    self.serverValues = serverValues
  }

  /// Checks that the text is one JSON value.
  package func validate() throws(FirebaseError) {
    do {
      try JSONScanner.validate(bytes)
    } catch {
      throw Self.malformed(error)
    }
  }

  /// The node that is the whole text.
  package func wholeNode() throws(FirebaseError) -> FirebaseNode {
    try validate()
    return try node(0..<bytes.count, depth: 0)
  }

  /// The members of an object by name; the last one of a name counts.
  package func members(_ range: Range<Int>) throws(FirebaseError) -> [(
    name: String, value: Range<Int>
  )] {
    let result = Result { () throws(TreeRingError) in
      var scanner = JSONScanner(slice(range))
      var members: [(name: String, value: Range<Int>)] = []
      try scanner.enterObject()
      while let member = try scanner.nextMember() {
        let token = scanner.slice(member.name)
        let start = range.lowerBound
        members.append(
          (
            Self.text(token),
            member.value.lowerBound + start..<member.value.upperBound + start
          ))
      }
      return members
    }
    switch result {
    case .success(let members): return members
    case .failure(let error): throw Self.malformed(error)
    }
  }

  /// The node of a value in the text.
  package func node(_ range: Range<Int>, depth: Int) throws(FirebaseError) -> FirebaseNode {
    if depth > FirebaseNode.largestDepth {
      throw FirebaseError(
        .malformed,
        "The data is nested deeper than the \(FirebaseNode.largestDepth) levels that Firebase "
          + "allows.")
    }
    switch first(range) {
    case UInt8(ascii: "{"): return try object(range, depth: depth)
    case UInt8(ascii: "["): return try array(range, depth: depth)
    default: return FirebaseNode(.scalar(try scalar(range)))
    }
  }

  private func object(_ range: Range<Int>, depth: Int) throws(FirebaseError) -> FirebaseNode {
    var children: [FirebaseKey: FirebaseNode] = [:]
    var priority = FirebaseScalar.null
    var value: FirebaseScalar?
    for member in try members(range) {
      switch member.name {
      case ".priority": priority = try self.priority(member.value)
      case ".value": value = try scalar(member.value)
      case ".sv" where serverValues != nil:
        value = try serverValue(member.value, .value)
      default:
        let key: FirebaseKey
        do {
          key = try FirebaseKey(member.name)
        } catch {
          throw FirebaseError(
            .malformed, "The data has a child named “\(member.name)”, which is no key of Firebase.")
        }
        serverValues?.path.append(key)
        let child = try node(member.value, depth: depth + 1)
        serverValues?.path.removeLast()
        children[key] = child.exists ? child : nil
      }
    }
    if case .bool = priority {
      throw FirebaseError(.malformed, "A priority is a truth value; it must be number or text.")
    }
    guard let value else { return FirebaseNode(.children(children), priority: priority) }
    if !children.isEmpty {
      throw FirebaseError(.malformed, "A node has both a “.value” and children.")
    }
    return FirebaseNode(.scalar(value), priority: priority)
  }

  /// The priority of a node, which may be a server value too.
  private func priority(_ range: Range<Int>) throws(FirebaseError) -> FirebaseScalar {
    if serverValues != nil, first(range) == UInt8(ascii: "{") {
      for member in try members(range) where member.name == ".sv" {
        return try serverValue(member.value, .priority)
      }
    }
    return try scalar(range)
  }

  /// Notes a server value, and returns its placeholder.
  private func serverValue(
    _ range: Range<Int>, _ part: FirebasePath.Part
  ) throws(FirebaseError) -> FirebaseScalar {
    var value: ServerValues.Value?
    if first(range) == UInt8(ascii: "{") {
      let members = try members(range)
      if members.count == 1, members[0].name == "increment",
        case .number(let number) = try scalar(members[0].value)
      {
        value = .increment(number)
      }
    } else if try scalar(range) == .text("timestamp") {
      value = .timestamp
    }
    guard let value else {
      throw FirebaseError(
        .malformed, "A server value is {\".sv\":\"timestamp\"} or {\".sv\":{\"increment\":NUMBER}}."
      )
    }
    serverValues?.found.append((serverValues?.path ?? [], part, value))
    return .number(0)
  }

  private func array(_ range: Range<Int>, depth: Int) throws(FirebaseError) -> FirebaseNode {
    let result = Result { () throws(TreeRingError) in
      var scanner = JSONScanner(slice(range))
      var elements: [Range<Int>] = []
      try scanner.enterArray()
      while let element = try scanner.nextElement() {
        elements.append(
          element.lowerBound + range.lowerBound..<element.upperBound + range.lowerBound)
      }
      return elements
    }
    var children: [FirebaseKey: FirebaseNode] = [:]
    switch result {
    case .failure(let error): throw Self.malformed(error)
    case .success(let elements):
      for (index, element) in elements.enumerated() {
        let key = FirebaseKey(index: index)
        serverValues?.path.append(key)
        let child = try node(element, depth: depth + 1)
        serverValues?.path.removeLast()
        if child.exists { children[key] = child }
      }
    }
    return FirebaseNode(.children(children))
  }

  /// The scalar of a value in the text.
  package func scalar(_ range: Range<Int>) throws(FirebaseError) -> FirebaseScalar {
    switch first(range) {
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "t"): return .bool(true)
    case UInt8(ascii: "f"): return .bool(false)
    case UInt8(ascii: "\""): return .text(Self.text(trimmed(range)))
    case UInt8(ascii: "{"), UInt8(ascii: "["), nil:
      throw FirebaseError(.malformed, "A “.value” or “.priority” is no scalar.")
    default:
      let token = String(decoding: trimmed(range), as: UTF8.self)
      guard let number = Double(token), number.isFinite else {
        throw FirebaseError(.malformed, "The number \(token) exceeds the range of a double.")
      }
      return .number(number)
    }
  }

  private func first(_ range: Range<Int>) -> UInt8? { trimmed(range).first }

  private func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[range])
  }

  /// The bytes of a range without space around them.
  private func trimmed(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    var range = range
    while let first = range.first, bytes[first] <= 0x20 { range = first + 1..<range.upperBound }
    while let last = range.last, bytes[last] <= 0x20 { range = range.lowerBound..<last }
    return slice(range)
  }

  private static func text(_ token: UnsafeRawBufferPointer) -> String {
    var output: [UInt8] = []
    JSONScanner.appendString(token, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  private static func malformed(_ error: TreeRingError) -> FirebaseError {
    FirebaseError(.malformed, "The server's JSON is malformed: \(error)")
  }
}
