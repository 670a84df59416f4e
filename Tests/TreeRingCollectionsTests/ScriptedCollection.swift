// A collection over a source in memory in which the test ends every wait: page reads, listener
// events and prepares arrive at the script's request, in any order, or fail, or never arrive.

import TestSupport
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections
@testable import TreeRingMappings

struct NoteModel: ValueModel, Hashable {
  var identifier: String
  var text: String?
  var number: Int
}

/// A child's data, which decides its preparation.
struct NoteData: Hashable, Sendable {
  /// A thousand times the child's key, and the note's number.
  var number: Int
  /// A skipped child gets no row; the preparation of a failing one fails.
  var isSkipped = false
  var fails = false

  /// The note made from the data.
  var note: NoteModel {
    NoteModel(identifier: "\(number / 1000)", text: nil, number: number % 1000)
  }
}

struct ScriptFailure: Error {}

/// Waits that the test ends.
final class Gate<Value: Sendable>: Sendable {
  private let waiting = Mutex<[CheckedContinuation<Value, any Error>]>([])

  func wait() async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      waiting.withLock { $0.append(continuation) }
    }
  }

  /// Ends one random wait; false if there is none.
  func open(_ result: Result<Value, any Error>, using random: inout SeededGenerator) -> Bool {
    let index = waiting.withLock { waiting -> CheckedContinuation<Value, any Error>? in
      guard let index = waiting.indices.randomElement(using: &random) else { return nil }
      return waiting.remove(at: index)
    }
    index?.resume(with: result)
    return index != nil
  }
}

/// Pages arrive from a source in memory when the gate opens; events queue up until the test lets
/// them through.
final class ScriptedSource: CollectionSource {
  typealias Data = NoteData
  let truth = MemorySource<NoteData>()
  let pages = Gate<Void>()
  private let events = Mutex<[@Sendable () -> Void]>([])
  let listenerCount = Mutex(0)
  private let receiver = Mutex<(@Sendable (SourceEvent<NoteData>) -> Void)?>(nil)

  /// Pages are read at once and delivered late. After cursors with some keys, they are read late
  /// instead.
  static func readsLate(beyond key: String?) -> Bool { key?.hasSuffix("0") == true }

  func page(_ request: PageRequest) async throws -> SourcePage<NoteData> {
    let early = try await truth.page(request)
    try await pages.wait()
    return Self.readsLate(beyond: request.cursor?.key) ? try await truth.page(request) : early
  }

  func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<NoteData>) -> Void
  ) -> any SourceListener {
    listenerCount.withLock { $0 += 1 }
    receiver.withLock { $0 = receive }
    return truth.listen(to: range) { event in
      self.events.withLock { $0.append { receive(event) } }
    }
  }

  /// Sends an event to the newest listener at once.
  func say(_ event: SourceEvent<NoteData>) { receiver.withLock(\.self)?(event) }

  /// Delivers the oldest event; false if there is none.
  func letEventThrough() -> Bool {
    let event = events.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    event?()
    return event != nil
  }
}

final class ScriptedDataSource: CollectionDataSource {
  let prepares = Gate<Void>()
  func prepare(_ data: NoteData) async throws -> NoteModel? {
    try await prepares.wait()
    if data.fails { throw ScriptFailure() }
    return data.isSkipped ? nil : data.note
  }
}

/// Keeps its own list from the changes it observes, and checks every event.
final class MirrorObserver: CollectionObserver {
  struct State {
    var list: [NoteModel] = []
    var flaws: [String] = []
    var events: [String] = []
    var outcomes: [LoadOutcome] = []
    var failures: [(error: any Error, key: String?)] = []

    /// The flaws that count if changes were merged: merged changes may report a value that was
    /// removed and came back.
    var flawsOfMerged: [String] { flaws.filter { !$0.contains("reported twice") } }

    /// Applies a change, and records its flaws.
    mutating func apply(_ change: CollectionChange<NoteModel>) {
      let changes = change.changes
      if changes.oldCount != list.count { flaws.append("an event was lost") }
      var moved: [Int: NoteModel] = [:]
      for (move, model) in zip(changes.moves, change.moved) { moved[move.to] = model }
      for (index, model) in zip(changes.deletes, change.removed)
      where list[index].identifier != model.identifier {
        flaws.append("\(model) is not at \(index)")
      }
      let alignment = changes.alignment
      for index in alignment.removed.reversed() { list.remove(at: index) }
      let added = Dictionary(uniqueKeysWithValues: zip(changes.inserts, change.added))
      for index in alignment.added {
        guard let model = added[index] ?? moved[index] else { continue }
        list.insert(model, at: index)
      }
      for (update, model) in zip(changes.updates, change.updated) {
        if list[update.to] == model, moved[update.to] == nil {
          flaws.append("\(model) was reported twice")
        }
        list[update.to] = model
      }
      if list.count != changes.newCount { flaws.append("the counts differ") }
    }
  }
  let state = Mutex(State())

  func collection(did change: CollectionChange<NoteModel>) {
    state.withLock { state in
      state.apply(change)
      state.events.append("change")
    }
  }
  func collectionDidChange() { state.withLock { $0.events.append("did change") } }
  func collectionDidStartLoad() { state.withLock { $0.events.append("start") } }
  func collectionDidEndLoad(_ outcome: LoadOutcome) {
    state.withLock { state in
      state.events.append("end")
      state.outcomes.append(outcome)
    }
  }
  func collection(failedWith error: any Error, key: String?) {
    state.withLock { $0.failures.append((error, key)) }
  }
}
