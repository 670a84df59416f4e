// Live hits of a search: the list of hits at one commit, and the least changes to that at the next.
// A commit that writes no row costs nothing; after any other the search runs again, and its hits
// are compared with those shown.

public import TreeRing
public import TreeRingLog

/// The order of a list of hits.
public enum TextOrder: Hashable, Sendable {
  /// The best hits first.
  case score
  /// The hits that are in a group of another index, in its order; or from its end, if reversed.
  case index(String, group: GroupName, reversed: Bool = false)
}

extension Store {
  /// An observer of the hits of a search, which its owner advances; it shows nothing yet.
  ///
  ///     var observer = store.observer(of: try TextQuery("dune"), in: "search", limit: 50)
  ///     let change = try observer.advance()
  ///
  /// - Parameters:
  ///   - query: The search.
  ///   - index: The name of a text index.
  ///   - order: The order of the hits.
  ///   - limit: The maximum number of hits.
  public func observer(
    of query: TextQuery, in index: String, by order: TextOrder = .score, limit: Int = 50
  ) -> TextObserver {
    TextObserver(store: self, query: query, index: index, order: order, limit: limit)
  }

  /// The changes of the hits of a search: first a reset with all of them, then one minimal change
  /// after the other. A slow reader gets one merged change, never a backlog. The stream ends when
  /// the task is cancelled.
  public func hits(
    of query: TextQuery, in index: String, by order: TextOrder = .score, limit: Int = 50
  ) -> TextChanges {
    TextChanges(observer: observer(of: query, in: index, by: order, limit: limit))
  }
}

/// The hits that a list shows, and the way to their next state. A value: copies advance
/// independently.
public struct TextObserver: Sendable {
  /// The store observed.
  public let store: Store
  /// The search; another one makes one minimal change of the list.
  public var query: TextQuery
  /// The name of the text index.
  public let index: String
  /// The order of the hits.
  public var order: TextOrder
  /// The maximum number of hits.
  public var limit: Int
  /// The hits shown, in their order.
  public private(set) var hits: [TextHit] = []
  /// The commit shown; nil before the first state.
  public private(set) var commit: CommitNumber?
  private var list = ListedRows()
  private var observer = ListedObserver()
  /// The search and the rows that are shown.
  private var shown: Shown?

  private struct Shown: Equatable {
    var query: TextQuery
    var order: TextOrder
    var limit: Int
    var rows: TreeRoot
    var definitions: [UInt32?]
  }

  init(store: Store, query: TextQuery, index: String, order: TextOrder, limit: Int) {
    self.store = store
    self.query = query
    self.index = index
    self.order = order
    self.limit = limit
  }

  /// Advances to the newest commit. The first change is a reset; later ones may be empty. The
  /// change has one section, which is named as the index. A row that stays in the list is updated
  /// if its object has changed; a change of its score alone is none.
  ///
  /// The cost of one search, and O(k log k) for k hits that come, go or move.
  /// - Throws: `notFound` if there is no such index; `invalidInput` if the search names a field
  ///   that the index does not have; `closed` once the store is closed. After an error the observer
  ///   keeps its state.
  public mutating func advance() throws(TreeRingError) -> Change {
    try advance(to: try store.snapshot())
  }

  /// Moves to any commit, forward or backward, as `advance()`.
  public mutating func advance(to snapshot: Snapshot) throws(TreeRingError) -> Change {
    var definitions: [UInt32?] = [try snapshot.definition(ofIndex: index, for: .words).number]
    if case .index(let name, _, _) = order {
      definitions.append(try snapshot.definition(ofIndex: name).number)
    }
    let next = Shown(
      query: query, order: order, limit: limit, rows: try snapshot.version.roots.rows,
      definitions: definitions)
    var copy = self
    var changed: [RowReference: Parts] = [:]
    if next != shown {
      let text = try snapshot.text(index)
      switch order {
      case .score: copy.hits = try text.find(query, limit: limit)
      case .index(let name, let group, let reversed):
        copy.hits = try text.find(
          query, in: try snapshot.index(name), group: group, limit: limit, reversed: reversed)
      }
      var rows: [(row: RowReference, object: [UInt8])] = []
      for hit in copy.hits {
        let row = copy.list.reference(bucket: hit.id.bucket, key: hit.id.key.bytes)
        rows.append((row, try text.row(of: hit).object))
      }
      guard let found = copy.list.replace(by: [(GroupName(index), rows)]) else {
        throw TreeRingError(
          .corruption, "The text index \(index) finds a row twice. Run `treering verify --deep`.")
      }
      for row in found { changed[row] = [] }
    }
    let change = try copy.observer.advance(
      to: copy.list, of: index, at: snapshot.commit, changed: changed, limit: .max)
    copy.shown = next
    copy.commit = snapshot.commit
    self = copy
    return change
  }
}

/// A stream of the changes of the hits of a search. Each iteration starts with a reset.
public struct TextChanges: AsyncSequence, Sendable {
  /// A change.
  public typealias Element = Change
  let observer: TextObserver

  public func makeAsyncIterator() -> Iterator { Iterator(observer: observer) }

  /// The position of one reader.
  public struct Iterator: AsyncIteratorProtocol {
    private let observer: PooledValue<TextObserver>
    private let store: Store
    /// The commit shown; nil before the first state.
    private var shown: CommitNumber?

    /// The hits shown after the last change.
    public private(set) var hits: [TextHit]

    init(observer: TextObserver) {
      self.observer = PooledValue(observer)
      store = observer.store
      shown = observer.commit
      hits = observer.hits
    }

    /// The next non-empty change, as soon as there is one; nil once the task is cancelled.
    /// - Throws: The errors of ``TextObserver/advance()``.
    public mutating func next() async throws(TreeRingError) -> Change? {
      while !Task.isCancelled {
        do throws(TreeRingError) {
          if let shown { try await store.reached(shown + 1) }
          let change: Change
          (change, shown, hits) = try await observer.change { (observer) throws(TreeRingError) in
            (try observer.advance(), observer.commit, observer.hits)
          }
          if !change.isEmpty { return change }
        } catch {
          if error.code == .cancelled { return nil }
          throw error
        }
      }
      return nil
    }
  }
}
