// A source in memory: for custom lists, for previews, and to test a collection without a store.

internal import TreeRingPlatform

/// Children in memory. Every method may be called from any thread. An edit takes effect before its
/// call returns, and listeners receive edits in their order.
public final class MemorySource<Data: Sendable & Equatable>: CollectionSource {
  private let state = Mutex(MemoryChildren<Data>())
  /// Keeps events in the order of the edits; appended to under the lock, run outside it.
  private let work = SerialWork { $0() }

  /// No children.
  public init() {}

  /// Adds a child, or replaces the one with its key at any position. O(log n), and O(1) for each
  /// listener.
  public func set(_ data: Data, at position: ChildPosition) {
    change { $0.edit(position.key, to: SourceChild(data, at: position)) }
  }

  /// Removes the child with a key, if there is one. O(log n), and O(1) for each listener.
  public func remove(_ key: String) { change { $0.edit(key, to: nil) } }

  /// Changes the children or listeners and sends the events, in order, to listeners still active
  /// then.
  private func change(_ body: (inout MemoryChildren<Data>) -> [MemoryChildren<Data>.Event]) {
    let begins = state.withLock { state in
      let events = body(&state)
      return work.append {
        for (listener, event) in events {
          self.state.withLock { $0.listeners[listener]?.receive }?(event)
        }
      }
    }
    if begins { work.begin() }
  }

  public func page(_ request: PageRequest) async throws -> SourcePage<Data> {
    state.withLock { $0.page(request) }
  }

  public func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<Data>) -> Void
  ) -> any SourceListener {
    let number = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = MemoryChildren<Data>.Listener(
        range: nil, receive: receive)
      return state.nextListener
    }
    let listener = ClosureListener(
      extending: { range in self.change { $0.extend(number, to: range) } },
      ending: { self.state.withLock { $0.listeners[number] = nil } })
    listener.extend(to: range)
    return listener
  }
}

/// The children and their listeners.
private struct MemoryChildren<Data: Sendable & Equatable> {
  struct Listener {
    var range: PositionRange?
    let receive: @Sendable (SourceEvent<Data>) -> Void
  }

  private var children = KnownChildren<Data>()
  var listeners: [Int: Listener] = [:]
  var nextListener = 0

  typealias Event = (listener: Int, event: SourceEvent<Data>)

  /// Inserts, replaces or removes a child and returns the events for listeners.
  mutating func edit(_ key: String, to new: SourceChild<Data>?) -> [Event] {
    let old = children[key]?.position
    if let new { children.set(new) } else { children.remove(key) }
    return listeners.sorted { $0.key < $1.key }.compactMap { number, listener in
      guard let range = listener.range else { return nil }
      if let new, range.contains(new.position) { return (number, .set(new)) }
      if let old, range.contains(old) { return (number, .removed(key: key)) }
      return nil
    }
  }

  /// Extends a listener to a range and returns the states of the new parts.
  mutating func extend(_ number: Int, to range: PositionRange) -> [Event] {
    guard let listener = listeners[number] else { return [] }
    listeners[number]?.range = range
    return range.parts(beyond: listener.range).map { part in
      (number, .state(part, children.keys(in: part).compactMap { children[$0] }))
    }
  }

  func page(_ request: PageRequest) -> SourcePage<Data> {
    let positions = children.positions
    var range = 0..<positions.count
    if let cursor = request.cursor {
      switch request.direction {
      case .forward: range = positions.firstPosition { cursor < $0 }..<positions.count
      case .backward: range = 0..<children.index(of: cursor)
      }
    }
    let count = min(request.limit ?? range.count, range.count)
    let read =
      request.direction == .forward ? Array(range.prefix(count)) : range.suffix(count).reversed()
    return SourcePage(
      read.compactMap { children[positions[$0].key] }, hasMore: count < range.count)
  }
}

/// A listener made of two closures.
struct ClosureListener: SourceListener {
  let extending: @Sendable (PositionRange) -> Void
  let ending: @Sendable () -> Void
  func extend(to range: PositionRange) { extending(range) }
  func cancel() { ending() }
}
