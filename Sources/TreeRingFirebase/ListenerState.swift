// The state of a listener, without network, tasks or locks.
//
//   1. The listener follows one stream over its whole range. An extension opens a second stream over
//      the larger range. The first one goes on until the second has sent its whole tree; then it is
//      closed. So no event is missed or comes twice, and no child leaves in between.
//   2. The whole tree, which also follows every reconnection, is a state of the range.
//   3. If a stream fails, the listener has failed, and closes the other one.

internal import TreeRingCollections

/// A message to a listener. Streams have numbers; messages of closed streams have no effect.
enum ListenerMessage: Sendable {
  case extend(PositionRange)
  case opened(stream: Int, FirebaseNode)
  case changed(stream: Int, [TreeEvent.Replacement])
  case failed(stream: Int, any Error)
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
  private var window: ChildWindow
  private var current: Stream?
  /// The stream over the larger range that has not sent its tree yet.
  private var next: Stream?
  private var count = 0
  private var isOver = false

  init(_ query: FirebaseQuery) {
    self.query = query
    window = ChildWindow(query.order, OrderInterval(query))
  }

  /// The children of the range, in order. O(n log n).
  var children: [SourceChild<FirebaseChild>] { window.children }

  /// Takes a message and returns the steps that follow, in order.
  mutating func take(_ message: ListenerMessage) -> [ListenerStep] {
    if isOver { return [] }
    switch message {
    case .extend(let range): return extend(to: range)
    case .opened(let number, let tree): return open(number, tree)
    case .changed(let number, let replacements):
      return current?.number == number ? [.change(window.apply(replacements))] : []
    case .failed(let number, let error):
      guard number == current?.number || number == next?.number else { return [] }
      isOver = true
      return [current, next].compactMap { $0.map { .close(stream: $0.number) } } + [.fail(error)]
    }
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
