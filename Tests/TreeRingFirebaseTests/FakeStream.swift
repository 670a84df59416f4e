// A stream of the fake server: the events that follow from each write, and those not yet sent.

import Foundation
import TestSupport
import TreeRingPlatform

/// The events of one stream.
final class FakeStream: Sendable {
  private struct State {
    var texts: [String] = []
    var isOver = false
    var isFinished = false
  }

  private let path: [String]
  private let query: FakeQuery
  private let state = Mutex(State())

  init(_ path: [String], _ query: FakeQuery) {
    self.path = path
    self.query = query
  }

  /// An event on the wire.
  static func event(_ name: String, _ path: String, _ data: String) -> String {
    "event: \(name)\ndata: {\"path\": \"\(path)\", \"data\": \(data)}\n\n"
  }

  func append(_ text: String) { state.withLock { $0.texts.append(text) } }

  /// Ends the stream at once.
  func end() { state.withLock { $0.isOver = true } }
  /// Ends the stream after its last event.
  func finish() { state.withLock { $0.isFinished = true } }

  /// Waits for the next event; nil once the stream has ended.
  func next(isClosed: () -> Bool) -> String? {
    while true {
      let (text, isOver) = state.withLock { state -> (String?, Bool) in
        if state.isOver { return (nil, true) }
        if state.texts.isEmpty { return (nil, state.isFinished) }
        return (state.texts.removeFirst(), false)
      }
      if let text { return text }
      if isOver || isClosed() { return nil }
      Platform.sleep(.microseconds(500))
    }
  }

  /// Sends the events that follow from a write.
  func send(
    _ write: FakeFirebase.Write, at target: [String], isPatch: Bool, before: PlainTree,
    after: PlainTree, _ random: inout SeededGenerator
  ) {
    if query.selects {
      return sendWindow(write, before, after, &random)
    }
    let concerned = write.filter { $0.path.isBelow(path) || path.isBelow($0.path) }
    if concerned.isEmpty { return }
    if isPatch, target.isBelow(path) {
      append(Self.event("patch", pathText(target), members(concerned, below: target)))
    } else if concerned.contains(where: { path.isBelow($0.path) }) {
      append(Self.event("put", "/", json(after.data(at: path))))
    } else {
      for (target, data) in concerned {
        append(Self.event("put", pathText(target), json(data)))
      }
    }
    if random.chance(4) { append("event: keep-alive\ndata: null\n\n") }
  }

  /// Sends the difference of a window: the children that left as null, those that entered, and
  /// those that changed.
  private func sendWindow(
    _ write: FakeFirebase.Write, _ before: PlainTree, _ after: PlainTree,
    _ random: inout SeededGenerator
  ) {
    let old = Set(query.keys(before, path))
    let new = Set(query.keys(after, path))
    var changes: FakeFirebase.Write = []
    for key in old.union(new).sorted() {
      let child = path + [key]
      let (was, now) = (before.data(at: child), after.data(at: child))
      if !new.contains(key) {
        changes.append((child, .null))
      } else if !old.contains(key) {
        changes.append((child, now))
      } else if was != now {
        // The write itself, if it lies deep enough, or the whole child.
        let deep = write.filter { $0.path.isBelow(child) }
        changes += !deep.isEmpty && random.chance(2) ? deep : [(child, now)]
      }
    }
    if changes.isEmpty { return }
    if random.chance(2) {
      append(Self.event("patch", "/", members(changes, below: path)))
    } else {
      for (target, data) in changes {
        append(Self.event("put", pathText(target), json(data)))
      }
    }
  }

  private func json(_ data: PlainData) -> String { data.json(exporting: query.isExport) }

  private func members(_ write: FakeFirebase.Write, below target: [String]) -> String {
    let parts = write.map { path, data in
      "\"\(path.dropFirst(target.count).joined(separator: "/"))\": \(json(data))"
    }
    return "{" + parts.joined(separator: ", ") + "}"
  }

  private func pathText(_ target: [String]) -> String {
    "/" + target.dropFirst(path.count).joined(separator: "/")
  }
}
