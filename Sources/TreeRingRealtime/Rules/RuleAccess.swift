// The decisions of rules. A permission holds for a location and everything below it. Every
// “.validate” must hold, at all levels, where there is data after the write.

internal import TreeRingFirebase
internal import TreeRingLive

/// The decisions about one request.
struct RuleAccess {
  let rules: Ruleset
  let auth: JSONValue
  let now: Double
  /// The tree before the request.
  let source: TreeReader
  private let evaluator = RuleEvaluator()

  init(_ rules: Ruleset, auth: JSONValue, now: Double, source: TreeReader) {
    self.rules = rules
    self.auth = auth
    self.now = now
    self.source = source
  }

  private func scope(_ path: [FirebaseKey], _ captures: [String: String]) -> RuleEvaluator.Scope {
    RuleEvaluator.Scope(
      auth: auth, now: now, root: RuleData(source: source, path: []),
      data: RuleData(source: source, path: path), captures: captures)
  }

  /// Whether the node at a path may be read by a query.
  func allowsRead(_ path: [FirebaseKey], query: JSONValue) throws -> Bool {
    try isGranted(path) { node, scope in
      guard let rule = node.read else { return false }
      var scope = scope
      scope.query = query
      return try evaluator.holds(rule, scope)
    }
  }

  /// Whether nodes may be written, all at once.
  func allowsWrites(_ writes: [NodeWrite]) throws -> Bool {
    let after = OverlaidSource(base: source, writes: writes)
    // The decisions at locations above several writes.
    var granted: [[FirebaseKey]: Bool] = [:]
    var validated: Set<[FirebaseKey]> = []
    for write in writes {
      let isGranted = try isGranted(write.path) { node, scope in
        guard let rule = node.write else { return false }
        if let known = granted[scope.data.path] { return known }
        var scope = scope
        scope.newData = RuleData(source: after, path: scope.data.path)
        let holds = try evaluator.holds(rule, scope)
        granted[scope.data.path] = holds
        return holds
      }
      guard try isGranted && isValid(write, after, &validated) else { return false }
    }
    return true
  }

  /// Whether a rule of the path or above it grants the request.
  private func isGranted(
    _ path: [FirebaseKey], _ grants: (RuleNode, RuleEvaluator.Scope) throws -> Bool
  ) throws -> Bool {
    var node = rules.root
    var captures: [String: String] = [:]
    for depth in 0...path.count {
      if try grants(node, scope(Array(path.prefix(depth)), captures)) { return true }
      guard depth < path.count, let next = node.child(path[depth], &captures) else { break }
      node = next
    }
    return false
  }

  private func isValid(
    _ write: NodeWrite, _ after: OverlaidSource, _ validated: inout Set<[FirebaseKey]>
  ) throws -> Bool {
    var node = rules.root
    var captures: [String: String] = [:]
    for depth in 0..<write.path.count {
      let path = Array(write.path.prefix(depth))
      if validated.insert(path).inserted {
        guard try isValid(node, path, captures, after) else { return false }
      }
      guard let next = node.child(write.path[depth], &captures) else { return true }
      node = next
    }
    return try isValid(write.node, node, write.path, captures, after)
  }

  /// Whether a written node is valid with everything below it.
  private func isValid(
    _ written: FirebaseNode, _ rules: RuleNode, _ path: [FirebaseKey],
    _ captures: [String: String], _ after: OverlaidSource
  ) throws -> Bool {
    guard written.exists else { return true }
    guard try isValid(rules, path, captures, after) else { return false }
    if rules.children.isEmpty, rules.captures.isEmpty { return true }
    for child in written.children {
      var captures = captures
      guard let next = rules.child(child.key, &captures) else { continue }
      guard try isValid(child.node, next, path + [child.key], captures, after) else {
        return false
      }
    }
    return true
  }

  private func isValid(
    _ rules: RuleNode, _ path: [FirebaseKey], _ captures: [String: String],
    _ after: OverlaidSource
  ) throws -> Bool {
    guard let rule = rules.validate, try after.exists(at: path) else { return true }
    var scope = scope(path, captures)
    scope.newData = RuleData(source: after, path: path)
    return try evaluator.holds(rule, scope)
  }
}
