// The state of a listener, without network, tasks or locks.
//
//   1. The listener follows one stream over its whole range. An extension opens a second stream
//      over the larger range. The first one is closed once the second has sent its whole tree. So
//      no event is missed, and no child leaves in between.
//   2. From the second stream's request until its tree, messages of the first one are held back,
//      and dropped then. The server took the tree after the request, so it has all that was sent
//      before. What was held back might be newer than the tree, and comes again after it: without
//      this rule, a child would go back to an earlier state. If the request fails, the messages
//      take effect. If they become too many, the first stream waits until then.
//   3. The whole tree, which also follows every reconnection, is a state of the range.
//   4. If a stream fails, the listener has failed, and closes the other one.

internal import TreeRingCollections

/// A message to a listener. Streams have numbers; messages of closed streams have no effect.
enum ListenerMessage: Sendable {
  case extend(PositionRange)
  /// A request for the stream is about to be sent.
  case requested(stream: Int)
  /// The stream's connection was lost.
  case lost(stream: Int)
  case opened(stream: Int, FirebaseNode)
  case changed(stream: Int, [TreeEvent.Replacement])
  case failed(stream: Int, any Error)
}

extension ListenerMessage {
  /// The number of the stream; nil for an extension.
  var stream: Int? {
    switch self {
    case .extend: nil
    case .requested(let number), .lost(let number), .opened(let number, _),
      .changed(let number, _), .failed(let number, _):
      number
    }
  }

  /// Whether it changes the children.
  var isEvent: Bool {
    switch self {
    case .opened, .changed: true
    case .extend, .requested, .lost, .failed: false
    }
  }
}

/// A step that follows from a message.
enum ListenerStep {
  case open(stream: Int, [RequestParameter])
  case close(stream: Int)
  /// The whole range is known; its children are `children`.
  case state(PositionRange, WindowChange)
  case change(WindowChange)
  case fail(any Error)
}

/// The state of a listener.
struct ListenerState {
  private struct Stream {
    let number: Int
    let range: PositionRange
    let parameters: [RequestParameter]
  }

  private let query: FirebaseQuery
  /// The children of the range.
  private(set) var window: ChildWindow
  private var current: Stream?
  /// The stream over the larger range that has not sent its tree yet.
  private var next: Stream?
  private var count = 0
  /// The messages of `current` since the request for `next`; nil without such a request.
  private var held: [ListenerMessage]?
  private var isOver = false
  /// The messages held back from which the stream must wait.
  static let heldLimit = 256

  init(_ query: FirebaseQuery) {
    self.query = query
    window = ChildWindow(query.order, OrderInterval(query))
  }

  /// The children of the range, in order. O(n log n).
  var children: [SourceChild<FirebaseChild>] { window.children }

  /// The stream that must wait, because too many of its messages are held back; nil for none.
  var fullStream: Int? { held?.count ?? 0 < Self.heldLimit ? nil : current?.number }

  /// Takes a message and returns the steps that follow, in order.
  mutating func take(_ message: ListenerMessage) -> [ListenerStep] {
    if isOver { return [] }
    if held != nil, message.isEvent, let current, message.stream == current.number {
      held?.append(message)
      return []
    }
    switch message {
    case .extend(let range): return extend(to: range)
    case .requested(let number):
      if number == next?.number { held = held ?? [] }
      return []
    case .lost(let number): return number == next?.number ? release() : []
    case .opened(let number, let tree): return open(number, tree)
    case .changed(let number, let replacements):
      return current?.number == number ? [.change(window.apply(replacements))] : []
    case .failed(let number, let error):
      guard number == current?.number || number == next?.number else { return [] }
      isOver = true
      return [current, next].compactMap { $0.map { .close(stream: $0.number) } } + [.fail(error)]
    }
  }

  /// Takes the messages held back.
  private mutating func release() -> [ListenerStep] {
    let messages = held ?? []
    held = nil
    return messages.flatMap { take($0) }
  }

  private mutating func extend(to range: PositionRange) -> [ListenerStep] {
    let parameters: [RequestParameter]
    do {
      parameters = try query.parameters(in: range)
    } catch {
      isOver = true
      return [current, next].compactMap { $0.map { .close(stream: $0.number) } } + [.fail(error)]
    }
    var steps: [ListenerStep] = next.map { [.close(stream: $0.number)] } ?? []
    next = nil
    steps += release()
    if let current, current.parameters == parameters {
      // The stream sends all of the larger range already.
      self.current = Stream(number: current.number, range: range, parameters: parameters)
      return steps + [.state(range, window.replace(OrderInterval(query, in: range)))]
    }
    count += 1
    next = Stream(number: count, range: range, parameters: parameters)
    steps.append(.open(stream: count, parameters))
    return steps
  }

  private mutating func open(_ number: Int, _ tree: FirebaseNode) -> [ListenerStep] {
    var steps: [ListenerStep] = []
    if let next, next.number == number {
      steps = current.map { [.close(stream: $0.number)] } ?? []
      current = next
      self.next = nil
      held = nil
    }
    guard let current, current.number == number else { return [] }
    let change = window.replace(OrderInterval(query, in: current.range), by: tree)
    return steps + [.state(current.range, change)]
  }
}

extension FirebaseQuery {
  /// The parameters of a stream over a range. A limit selects children of the whole query, so the
  /// range cannot narrow it; the window leaves out what lies beyond the range.
  func parameters(in range: PositionRange) throws(FirebaseError) -> [RequestParameter] {
    let interval = limit == nil ? OrderInterval(self, in: range) : OrderInterval(self)
    return try interval.parameters(order, limit: limit)
  }
}
