// A window of a reader, checked at every message. The message must follow from the commit shown;
// it must remove only rows that are shown, and place only rows that are not; and the rows must then
// be those of the rule at the message's commit, in order. So a change that is lost, doubled, late
// or out of order is a failure at once.

import Foundation

/// The rows that a reader shows of the board. Used on one event loop.
final class CheckedWindow: @unchecked Sendable {
  private struct Row {
    var key: Int
    var order: Int
    var commit: UInt64

    var name: String { "row-\(key)" }
    static func < (left: Row, right: Row) -> Bool {
      (left.order, left.name) < (right.order, right.name)
    }
  }

  /// The groups that it shows; nil for all.
  let groups: [Int]?
  private let history: LoadHistory
  private var sections: [Int: [Row]] = [:]
  /// The commit shown; nil before the first message.
  private(set) var commit: UInt64?
  /// The position to resume from; nil while a whole window is incomplete.
  private(set) var position: String?
  private var isPartial = false
  /// Whether the next message answers an opening, so that it may change nothing.
  private var isOpening = true
  private(set) var messageCount = 0
  private(set) var wholeCount = 0
  /// The most commits that one change has led over.
  private(set) var longestChange: UInt64 = 0

  init(groups: [Int]?, history: LoadHistory) {
    self.groups = groups
    self.history = history
  }

  /// The message that opens the window: from its position, if it has one.
  func opening(_ id: Int) -> String {
    isOpening = true
    let names = groups.map { "[" + $0.map { "\"g\($0)\"" }.joined(separator: ",") + "]" } ?? "null"
    let from = position.map { ",\"from\":\"\($0)\"" } ?? ""
    return "{\"open\":\(id),\"index\":\"board\",\"groups\":\(names)\(from)}"
  }

  /// Applies a message of the server.
  func apply(_ message: [String: Any]) throws(LoadFailure) {
    if let error = message["error"] { throw LoadFailure(description: "the server says \(error)") }
    guard let number = message["commit"] as? NSNumber else {
      throw LoadFailure(description: "a message without a commit: \(message)")
    }
    messageCount += 1
    if let from = message["from"] as? NSNumber {
      guard from.uint64Value == commit, !isPartial else {
        throw LoadFailure(
          description: "a change from \(from), but commit \(commit ?? 0) is shown")
      }
      guard number.uint64Value > from.uint64Value || isOpening else {
        throw LoadFailure(description: "a change from \(from) to \(number)")
      }
      longestChange = max(longestChange, number.uint64Value - from.uint64Value)
      try change(message)
    } else {
      try whole(message, number.uint64Value)
    }
    isOpening = false
    commit = number.uint64Value
    position = isPartial ? nil : message["position"] as? String ?? position
    if !isPartial { try check() }
  }

  private func whole(_ message: [String: Any], _ number: UInt64) throws(LoadFailure) {
    if message["reset"] != nil {
      sections = [:]
      wholeCount += 1
    } else if !isPartial || number != commit {
      throw LoadFailure(description: "a piece of commit \(number) after commit \(commit ?? 0)")
    }
    for section in message["sections"] as? [[Any]] ?? [] {
      let group = try Self.group(section[0])
      for part in section[1] as? [[Any]] ?? [] {
        sections[group, default: []].append(try Self.row(part[1], part[2]))
      }
    }
    isPartial = message["more"] as? Bool == true
  }

  private func change(_ message: [String: Any]) throws(LoadFailure) {
    let rows = message["rows"] as? [String: Any] ?? [:]
    let parts = message["sections"] as? [String: Any] ?? [:]
    for part in rows["remove"] as? [[Any]] ?? [] {
      _ = try take(Self.key(part[2]), from: try Self.group(part[0]))
    }
    for name in parts["remove"] as? [Any] ?? [] { sections[try Self.group(name)] = nil }
    for part in parts["place"] as? [[Any]] ?? [] {
      guard let content = part[2] as? [[Any]] else { continue }
      let group = try Self.group(part[0])
      for row in content { sections[group, default: []].append(try Self.row(row[1], row[2])) }
    }
    for part in rows["place"] as? [[Any]] ?? [] {
      let (group, key) = (try Self.group(part[0]), try Self.key(part[2]))
      var row: Row
      if part[3] is NSNull {
        row = try Self.row(part[2], part[5])
      } else {
        row = try take(key, from: try Self.group(part[3]))
      }
      row.key = key
      let before = try (part[4] as? [Any]).map { pair throws(LoadFailure) in try Self.key(pair[1]) }
      if sections[group]?.contains(where: { $0.key == key }) == true {
        throw LoadFailure(description: "row-\(key) came to g\(group) twice")
      }
      let index = before.map { next in sections[group]?.firstIndex { $0.key == next } }
      guard let index = index ?? sections[group, default: []].count else {
        throw LoadFailure(description: "row-\(key) precedes a row that is not shown")
      }
      sections[group, default: []].insert(row, at: index)
    }
    for part in rows["update"] as? [[Any]] ?? [] {
      let (group, key) = (try Self.group(part[0]), try Self.key(part[2]))
      guard let index = sections[group]?.firstIndex(where: { $0.key == key }) else {
        throw LoadFailure(description: "row-\(key) changed in g\(group), but is not shown")
      }
      if part.count > 4 { sections[group]?[index] = try Self.row(part[2], part[4]) }
    }
  }

  private func take(_ key: Int, from group: Int) throws(LoadFailure) -> Row {
    guard let index = sections[group]?.firstIndex(where: { $0.key == key }),
      let row = sections[group]?.remove(at: index)
    else { throw LoadFailure(description: "row-\(key) left g\(group), but is not shown there") }
    return row
  }

  /// Compares the rows with those of the rule.
  private func check() throws(LoadFailure) {
    guard let commit else { return }
    for group in groups ?? Array(0..<LoadRule.groups) {
      let rows = sections[group] ?? []
      var summary = LoadHistory.Summary(count: rows.count)
      for (index, row) in rows.enumerated() {
        let place = LoadRule.Row(group: group, order: row.order, commit: row.commit)
        summary.digest &+= place.digest(of: row.key)
        if index > 0, !(rows[index - 1] < row) {
          throw LoadFailure(description: "g\(group) is out of order at commit \(commit)")
        }
      }
      guard summary == history.summary(of: group, at: commit) else {
        throw LoadFailure(description: "the rows of g\(group) are not those of commit \(commit)")
      }
    }
  }

  /// Whether it shows the rows of a commit, perhaps under the number of an earlier one.
  func shows(_ commit: UInt64) -> Bool {
    guard position != nil, let shown = self.commit, shown <= commit else { return false }
    return (groups ?? Array(0..<LoadRule.groups)).allSatisfy {
      history.summary(of: $0, at: shown) == history.summary(of: $0, at: commit)
    }
  }

  /// The rows of a group as the store's answers give them: the key and the text of each.
  func rows(of group: Int) -> [String] {
    (sections[group] ?? []).map { "\($0.name) \($0.order) \($0.commit)" }
  }

  // MARK: - Parts of messages

  private static func group(_ name: Any) throws(LoadFailure) -> Int {
    guard let name = name as? String, name.hasPrefix("g"), let number = Int(name.dropFirst()) else {
      throw LoadFailure(description: "\(name) is no group")
    }
    return number
  }

  private static func key(_ name: Any) throws(LoadFailure) -> Int {
    guard let name = name as? String, let number = Int(name.dropFirst(4)) else {
      throw LoadFailure(description: "\(name) is no key")
    }
    return number
  }

  private static func row(_ name: Any, _ object: Any) throws(LoadFailure) -> Row {
    guard let object = object as? [String: Any], let order = object["order"] as? NSNumber,
      let text = object["text"] as? String, let commit = UInt64(text.prefix { $0 != " " })
    else { throw LoadFailure(description: "\(object) is no row") }
    return Row(key: try key(name), order: order.intValue, commit: commit)
  }

  /// A row of the store's answer, in the form of `rows(of:)`.
  static func text(of row: [String: Any]) throws(LoadFailure) -> String {
    let row = try Self.row(row["key"] ?? "", row["object"] ?? row["value"] ?? "")
    return "\(row.name) \(row.order) \(row.commit)"
  }
}
