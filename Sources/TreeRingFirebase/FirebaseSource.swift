// A location of a Firebase Realtime Database as a source of live collections, over REST and
// Server-Sent Events.

public import Foundation
public import TreeRingCollections

/// The children of a location, in the order of a query.
///
///     let byDate = FirebaseQuery(.child("sent"))
///     let messages = LiveCollection(
///       source: try FirebaseSource(chat, query: byDate, options: options),
///       options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
///     ) { child in
///       Message(identifier: child.key.text, content: try child.node.decode())
///     }
///     …
///     let newest = await messages.load(.backward)  // the newest twenty, live from now on
///
/// A collection of the mode `live` follows all children. One of the mode `paged` follows the loaded
/// range: with `load(.backward)` the newest children, new ones as they arrive, and older ones page
/// by page. An extended range is sent anew by the server as a whole.
/// <doc:ComingFromCWFirebaseCollection> explains the modes.
///
/// Copies share a token and connections, which close with the last copy and listener.
public struct FirebaseSource: CollectionSource {
  /// Children with their keys and nodes; ``FirebaseNode/decode(_:)`` decodes them.
  public typealias Data = FirebaseChild

  /// The query.
  public let query: FirebaseQuery
  private let client: FirebaseClient

  /// The children of a location.
  ///
  /// - Parameters:
  ///   - location: The address, such as `https://NAME.firebaseio.com/chats/1`, with or without
  ///     `.json`. Its parameters, such as `ns` for the emulator, are kept.
  ///   - query: The order, bounds and limit; all children by key by default.
  ///   - options: The options.
  /// - Throws: `invalidInput` if the address is no server's, the order's path is none, or a bound
  ///   is none of the order, such as a key with a slash.
  public init(
    _ location: URL, query: FirebaseQuery = FirebaseQuery(),
    options: FirebaseOptions = FirebaseOptions()
  ) throws(FirebaseError) {
    if case .child(let path) = query.order {
      let path = try FirebasePath(path)
      if path.isRoot || path.part != .node {
        throw FirebaseError(
          .invalidInput, "An order by a child needs its path, such as “height” or “name/first”.")
      }
    }
    if let flaw = query.flaw { throw FirebaseError(.invalidInput, flaw) }
    self.query = query
    client = FirebaseClient(try FirebaseAddress(location), options)
  }

  /// Reads a page with one request, or all children of a query with a limit. Repeats it after
  /// failures that may pass. O(children read).
  /// - Throws: A ``FirebaseError``; `CancellationError`; the error of ``FirebaseOptions/token``.
  public func page(_ request: PageRequest) async throws -> SourcePage<FirebaseChild> {
    var interval = OrderInterval(query)
    switch request.direction {
    case .forward: interval.narrow(from: request.cursor?.edge)
    case .backward: interval.narrow(to: request.cursor?.edge)
    }
    let parameters =
      if let limit = query.limit {
        try OrderInterval(query).parameters(query.order, limit: limit)
      } else {
        try interval.parameters(query.order, limit: request.queryLimit)
      }
    let node = try await client.read(parameters)
    var children: [SourceChild<FirebaseChild>] = []
    for child in node.unsortedChildren {
      let position = ChildPosition(child, in: query.order)
      guard interval.contains(position.orderBytes), position != request.cursor else { continue }
      children.append(SourceChild(child, at: position))
    }
    children.sort { $0.position < $1.position }
    if request.direction == .backward { children.reverse() }
    let limit = request.limit ?? children.count
    return SourcePage(Array(children.prefix(limit)), hasMore: children.count > limit)
  }

  /// Listens to a range. The events that may follow are a state for each connection, then the
  /// changes; a change costs O(log n) for each child that it affects.
  public func listen(
    to range: PositionRange, _ receive: @escaping @Sendable (SourceEvent<FirebaseChild>) -> Void
  ) -> any SourceListener {
    let listener = FirebaseListener(client, query) { step, state in
      switch step {
      case .state(let range, _): receive(.state(range, state.children))
      case .change(let change): for event in change.sourceEvents { receive(event) }
      case .fail(let error): receive(.failed(error))
      case .open, .close: break
      }
    }
    listener.extend(to: range)
    return listener
  }

  /// The events of the query's children, beginning with those present as added. After a lost
  /// connection, the differences follow. Each read starts a stream of its own, for one reader.
  ///
  /// A reader that does not take events costs a position, not a queue: what happens meanwhile is
  /// merged, and each child that differs comes once. The stream throws the error that ends it.
  ///
  ///     for try await event in source.childEvents {
  ///       if case .added(let child, let previous) = event {
  ///         print(child.key, "after", previous?.text ?? "nothing")
  ///       }
  ///       …
  ///     }
  public var childEvents: AsyncThrowingStream<FirebaseChildEvent, any Error> {
    let feed = ChildEventFeed(query)
    let listener = FirebaseListener(client, query) { step, state in feed.take(step, state.window) }
    listener.extend(to: PositionRange())
    // The listener ends with the stream, which holds it.
    return AsyncThrowingStream { [listener] in
      defer { withExtendedLifetime(listener) {} }
      return try await feed.next()
    }
  }
}

extension PageRequest {
  /// The limit of a query for this page: one child more tells whether more follow, and another one
  /// is the child at the cursor, which the query's bounds include.
  fileprivate var queryLimit: FirebaseQuery.Limit? {
    guard let limit else { return nil }
    let (count, overflow) = limit.addingReportingOverflow(cursor == nil ? 1 : 2)
    if overflow { return nil }
    return direction == .forward ? .first(count) : .last(count)
  }
}
