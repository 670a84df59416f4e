// A client of live windows as any program could write it: it knows the messages and nothing else.

import TreeRing
import TreeRingLog

@testable import TreeRingLive

/// The lists of one window, kept by the messages of a session.
struct LiveClient {
  struct Row: Hashable {
    var bucket: String
    var key: JSONValue
    var object: JSONValue
  }
  struct Section: Hashable {
    var group: JSONValue
    var rows: [Row]
    /// The group's rows before the first one shown, and all of them, if the request asks for them.
    var total: [Int]?
  }
  struct Failure: Error {
    var sentence: String
  }

  var sections: [Section] = []
  var commit: Int?
  var position: String?
  /// Whether the whole window has not come entirely.
  var isPartial = false
  /// The reason of the last reset.
  var reset: String?
  /// The number of operations of the last change.
  var operationCount = 0

  /// Applies a message about the window.
  mutating func apply(_ message: [String: JSONValue]) throws {
    if let error = message["error"] { throw Failure(sentence: "\(error)") }
    let before = commit
    commit = message["commit"]?.integer
    position = message["position"]?.string ?? position
    operationCount = 0
    if let from = message["from"] {
      guard from.integer == before else {
        throw Failure(sentence: "a change from \(from) to a client at \(before ?? -1)")
      }
      try change(message)
      try takeTotals(message)
      return
    }
    if let reason = message["reset"]?.string {
      reset = reason
      sections = []
    } else if !isPartial || before != commit {
      throw Failure(sentence: "a piece without a beginning")
    }
    isPartial = message["more"] == .bool(true)
    for part in try array(message["sections"]) {
      let pair = try array(part)
      let rows = try array(pair[1]).map { try row(array($0)) }
      if sections.last?.group == pair[0] {
        sections[sections.count - 1].rows += rows
      } else {
        sections.append(Section(group: pair[0], rows: rows))
      }
    }
    try takeTotals(message)
  }

  private mutating func takeTotals(_ message: [String: JSONValue]) throws {
    for total in try array(message["totals"]) {
      let part = try array(total)
      let numbers = part.dropFirst().compactMap(\.integer)
      let section = try place(of: part[0])
      if sections[section].total == numbers { throw Failure(sentence: "\(part) is known already") }
      sections[section].total = numbers
    }
  }

  private mutating func change(_ message: [String: JSONValue]) throws {
    let parts = message["sections"]?.members ?? [:]
    let rows = message["rows"]?.members ?? [:]
    for removal in try array(rows["remove"]) { _ = try take(array(removal)) }
    for group in try array(parts["remove"]) {
      sections.remove(at: try place(of: group))
      operationCount += 1
    }
    for placement in try array(parts["place"]) {
      let part = try array(placement)
      operationCount += 1
      var section = Section(group: part[0], rows: [])
      if part[2] == .null {
        section = sections.remove(at: try place(of: part[0]))
      } else {
        section.rows = try array(part[2]).map { try row(array($0)) }
      }
      let target = part[1] == .null ? sections.count : try place(of: part[1])
      sections.insert(section, at: target)
    }
    for placement in try array(rows["place"]) {
      let part = try array(placement)
      var moved = Row(bucket: part[1].string ?? "", key: part[2], object: .null)
      if part[3] == .null {
        moved.object = part[5]
        operationCount += 1
      } else {
        moved = try take([part[3], part[1], part[2]])
      }
      let section = try place(of: part[0])
      var target = sections[section].rows.count
      if part[4] != .null {
        let next = try array(part[4])
        target = try place(of: next[0], next[1], in: section)
      }
      sections[section].rows.insert(moved, at: target)
    }
    for update in try array(rows["update"]) {
      let part = try array(update)
      let section = try place(of: part[0])
      let row = try place(of: part[1], part[2], in: section)
      operationCount += 1
      if part.count > 4 { sections[section].rows[row].object = part[4] }
    }
  }

  private mutating func take(_ member: [JSONValue]) throws -> Row {
    let section = try place(of: member[0])
    operationCount += 1
    return sections[section].rows.remove(at: try place(of: member[1], member[2], in: section))
  }

  private func array(_ value: JSONValue?) throws -> [JSONValue] {
    guard let value else { return [] }
    guard case .array(let elements) = value else { throw Failure(sentence: "no array: \(value)") }
    return elements
  }

  private func row(_ part: [JSONValue]) throws -> Row {
    Row(bucket: part[0].string ?? "", key: part[1], object: part[2])
  }

  private func place(of group: JSONValue) throws -> Int {
    guard let place = sections.firstIndex(where: { $0.group == group }) else {
      throw Failure(sentence: "no section \(group)")
    }
    return place
  }

  private func place(of bucket: JSONValue, _ key: JSONValue, in section: Int) throws -> Int {
    let place = sections[section].rows.firstIndex {
      .text($0.bucket) == bucket && $0.key == key
    }
    guard let place else { throw Failure(sentence: "no row \(key) in section \(section)") }
    return place
  }
}
