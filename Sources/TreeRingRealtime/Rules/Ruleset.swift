// The rules of a database: a tree of expressions, read from JSON with comments.

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// The rules of one location and those below it.
struct RuleNode: Sendable {
  var children: [FirebaseKey: RuleNode] = [:]
  /// The rules of all other children, with the name of the capture; at most one.
  var captures: [(name: String, node: RuleNode)] = []
  var read: RuleExpression?
  var write: RuleExpression?
  var validate: RuleExpression?
  var indexes: Set<String> = []

  /// The rules of a child; nil if there are none.
  func child(_ key: FirebaseKey, _ captured: inout [String: String]) -> RuleNode? {
    if let child = children[key] { return child }
    guard let capture = captures.first else { return nil }
    captured[capture.name] = key.text
    return capture.node
  }
}

/// The rules of a database.
struct Ruleset: Sendable {
  let root: RuleNode

  /// Rules that allow everything, or nothing.
  init(allowing everything: Bool) {
    var root = RuleNode()
    root.read = .literal(.bool(everything))
    root.write = .literal(.bool(everything))
    self.root = root
  }

  /// Reads rules.
  ///
  /// - Throws: a refusal with line and column of the first error.
  init(_ text: [UInt8]) throws(RealtimeError) {
    let json = Self.withoutComments(text)
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(RealtimeError) in try RulesetReader(bytes).rules() }
    }
    root = try result.get()
  }

  /// The rules as JSON without comments: each comment becomes space.
  static func withoutComments(_ text: [UInt8]) -> [UInt8] {
    var output = text
    var index = 0
    func isAt(_ a: Character, _ b: Character) -> Bool {
      index + 1 < text.count && text[index] == a.asciiValue && text[index + 1] == b.asciiValue
    }
    while index < text.count {
      if text[index] == UInt8(ascii: "\"") {
        index += 1
        while index < text.count, text[index] != UInt8(ascii: "\"") {
          index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        index += 1
      } else if isAt("/", "/") {
        while index < text.count, text[index] != 0x0A {
          output[index] = 0x20
          index += 1
        }
      } else if isAt("/", "*") {
        let start = index
        index += 2
        while index < text.count, !isAt("*", "/") { index += 1 }
        index = min(index + 2, text.count)
        for place in start..<index where text[place] != 0x0A { output[place] = 0x20 }
      } else {
        index += 1
      }
    }
    return output
  }

  /// Whether children at a path are indexed by a name: a path below them, or ".value".
  func isIndexed(_ path: [FirebaseKey], by name: String) -> Bool {
    var node: RuleNode? = root
    var captured: [String: String] = [:]
    for key in path { node = node?.child(key, &captured) }
    return node?.indexes.contains(name) ?? false
  }
}

/// Reads rules from JSON.
private struct RulesetReader {
  let bytes: UnsafeRawBufferPointer
  let reader: NodeReader
  private static let largestDepth = FirebaseNode.largestDepth + 1

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    reader = NodeReader(bytes)
  }

  func rules() throws(RealtimeError) -> RuleNode {
    do throws(TreeRingError) {
      try JSONScanner.validate(bytes)
    } catch {
      throw RealtimeError(400, "Error: The rules are no JSON: \(error.message)")
    }
    let members = try self.members(0..<bytes.count)
    guard members.count == 1, members[0].name == "rules" else {
      throw refusal(0, "The rules are an object with the one member “rules”.")
    }
    return try node(members[0].value, captures: [], depth: 0)
  }

  private func first(_ range: Range<Int>) -> UInt8? {
    range.isEmpty ? nil : bytes[range.lowerBound]
  }

  private func members(
    _ range: Range<Int>
  ) throws(RealtimeError) -> [(name: String, value: Range<Int>)] {
    var start = range.lowerBound
    while start < range.upperBound, bytes[start] <= 0x20 { start += 1 }
    guard start < range.upperBound, bytes[start] == UInt8(ascii: "{") else {
      throw refusal(range.lowerBound, "An object is needed here.")
    }
    do throws(FirebaseError) {
      return try reader.members(range)
    } catch {
      throw RealtimeError(400, "Error: \(error.message)")
    }
  }

  private func node(
    _ range: Range<Int>, captures: Set<String>, depth: Int
  ) throws(RealtimeError) -> RuleNode {
    if depth > Self.largestDepth { throw refusal(range.lowerBound, "The rules are too deep.") }
    var node = RuleNode()
    var names: Set<String> = []
    for (name, value) in try members(range) {
      guard names.insert(name).inserted else {
        throw refusal(value.lowerBound, "The name “\(name)” occurs twice.")
      }
      switch name {
      case ".read": node.read = try expression(value, captures, isWrite: false)
      case ".write": node.write = try expression(value, captures, isWrite: true)
      case ".validate": node.validate = try expression(value, captures, isWrite: true)
      case ".indexOn": node.indexes = try indexes(value)
      case _ where name.hasPrefix("$"):
        guard node.captures.isEmpty, !captures.contains(name), Self.isName(name.dropFirst()) else {
          throw refusal(
            value.lowerBound,
            "“\(name)” is no capture here: each has a name of its own, and a location has one.")
        }
        node.captures = [
          (name, try self.node(value, captures: captures.union([name]), depth: depth + 1))
        ]
      default:
        guard let key = try? FirebaseKey(name) else {
          throw refusal(value.lowerBound, "“\(name)” is neither a rule nor a key.")
        }
        node.children[key] = try self.node(value, captures: captures, depth: depth + 1)
      }
    }
    return node
  }

  private static func isName(_ name: Substring) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy {
        $0 == UInt8(ascii: "_") || $0 >= 0x80 || (0x30...0x39).contains($0)
          || (0x61...0x7A).contains($0 | 0x20)
      }
  }

  private func expression(
    _ range: Range<Int>, _ captures: Set<String>, isWrite: Bool
  ) throws(RealtimeError) -> RuleExpression {
    switch first(range) {
    case UInt8(ascii: "t"): return .literal(.bool(true))
    case UInt8(ascii: "f"): return .literal(.bool(false))
    case UInt8(ascii: "\""): break
    default: throw refusal(range.lowerBound, "A rule is a text, true or false.")
    }
    let text = try self.text(range)
    do throws(RuleError) {
      return try RuleParser.parse(text, captures: captures, isWrite: isWrite)
    } catch {
      // With escapes in the text, offsets in it are no offsets in the file.
      let isVerbatim = text.utf8.count == range.count - 2
      throw refusal(range.lowerBound + 1 + (isVerbatim ? error.offset : 0), error.text)
    }
  }

  private func indexes(_ range: Range<Int>) throws(RealtimeError) -> Set<String> {
    if first(range) == UInt8(ascii: "\"") { return [try indexName(range)] }
    let result = Result { () throws(TreeRingError) in
      var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[range]))
      var elements: [Range<Int>] = []
      try scanner.enterArray()
      while let element = try scanner.nextElement() { elements.append(element) }
      return elements
    }
    guard case .success(let elements) = result else {
      throw refusal(range.lowerBound, "“.indexOn” is a text or a list of texts.")
    }
    var names: Set<String> = []
    for element in elements {
      let start = range.lowerBound
      names.insert(try indexName(element.lowerBound + start..<element.upperBound + start))
    }
    return names
  }

  private func indexName(_ range: Range<Int>) throws(RealtimeError) -> String {
    let name = try text(range)
    if name == ".value" { return name }
    guard let path = try? FirebasePath(name), path.part == .node, !path.isRoot else {
      throw refusal(range.lowerBound, "“\(name)” is neither a path nor “.value”.")
    }
    return path.keys.map(\.text).joined(separator: "/")
  }

  private func text(_ range: Range<Int>) throws(RealtimeError) -> String {
    let result = Result { () throws(FirebaseError) in try reader.scalar(range) }
    guard case .success(.text(let text)) = result else {
      throw refusal(range.lowerBound, "A text is needed here.")
    }
    return text
  }

  private func refusal(_ offset: Int, _ text: String) -> RealtimeError {
    var (line, column) = (1, 1)
    for index in 0..<min(offset, bytes.count) {
      if bytes[index] == 0x0A {
        (line, column) = (line + 1, 1)
      } else {
        column += 1
      }
    }
    return RealtimeError(400, "Error: Line \(line), column \(column): \(text)")
  }
}
