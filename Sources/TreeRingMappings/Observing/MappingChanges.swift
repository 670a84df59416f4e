// A stream of changes: an observer that advances after each commit or manual change.

public import TreeRing
public import TreeRingLog

extension Store {
  /// The changes of the rows that mappings show: first a reset with the full state, then one
  /// minimal change after the other. A slow reader gets one merged change, never a backlog. The
  /// stream ends when the task is cancelled.
  ///
  ///     for try await change in store.changes(of: chats) {
  ///       table.apply(change)
  ///     }
  ///
  /// - Parameters:
  ///   - mappings: The groups to show.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  ///   - totals: Whether to deliver changes of mapped groups that show nothing new too, for the
  ///     sake of their ``Change/totals()``.
  public func changes(
    of mappings: Mappings, limit: Int = 500, totals: Bool = false
  ) -> MappingChanges {
    changes(of: MappingControl(mappings), limit: limit, totals: totals)
  }

  /// The changes of the rows that a control's mappings show. The control may change them during the
  /// stream.
  ///
  /// - Parameters:
  ///   - control: The source of mappings and range changes.
  ///   - limit: The maximum number of operations to list; a larger change is a reset.
  ///   - totals: Whether to deliver changes of mapped groups that show nothing new too, for the
  ///     sake of their ``Change/totals()``.
  public func changes(
    of control: MappingControl, limit: Int = 500, totals: Bool = false
  ) -> MappingChanges {
    MappingChanges(store: self, control: control, limit: limit, totals: totals)
  }
}

/// A stream of the changes of the rows that mappings show. Each iteration starts with a reset.
public struct MappingChanges: AsyncSequence, Sendable {
  /// A change.
  public typealias Element = Change
  let store: Store
  let control: MappingControl
  let limit: Int
  let totals: Bool

  public func makeAsyncIterator() -> Iterator {
    let mappings = control.request().request?.mappings
    return Iterator(
      observer: store.observer(of: mappings ?? Mappings(of: "", groups: []), limit: limit),
      control: control, totals: totals)
  }

  /// The position of one reader.
  public struct Iterator: AsyncIteratorProtocol {
    private let observer: PooledValue<MappingObserver>
    private let store: Store
    let control: MappingControl
    /// Whether to deliver changes of totals alone.
    let totals: Bool
    /// The control's turn that was last delivered.
    private var delivered: Int?
    /// The commit shown; nil before the first state.
    private var shown: CommitNumber?

    init(observer: MappingObserver, control: MappingControl, totals: Bool) {
      self.observer = PooledValue(observer)
      store = observer.store
      self.control = control
      self.totals = totals
    }

    /// The next non-empty change, as soon as there is one; nil once the task is cancelled.
    ///
    /// - Throws: `closed` once the store is closed; `notFound` if the index is removed;
    ///   `invalidInput` if a range change names a group that has no range. After `invalidInput` the
    ///   stream continues without that request's range changes. After any other error, the
    ///   control's requests still wait for delivery.
    public mutating func next() async throws(TreeRingError) -> Change? {
      while !Task.isCancelled {
        let (request, turn) = control.request()
        guard let request else {
          await control.wait(after: turn)
          continue
        }
        if let shown, delivered == turn {
          try await wait(beyond: shown, turn)
          if Task.isCancelled { return nil }
        }
        let change: Change
        let mappings: Mappings
        do throws(TreeRingError) {
          (change, mappings, shown) = try await observer.change {
            (observer) throws(TreeRingError) in
            let change = try observer.advance(
              mappings: request.mappings, changing: request.changes)
            return (change, observer.mappings, observer.commit)
          }
        } catch {
          if error.code == .cancelled { return nil }
          if error.code == .invalidInput { control.drop(request) }
          throw error
        }
        control.settle(request, showing: mappings)
        delivered = turn
        if !change.isEmpty || totals && change.affectsTotals { return change }
      }
      return nil
    }

    /// Waits for a commit or a change of the control.
    private func wait(beyond shown: CommitNumber, _ turn: Int) async throws(TreeRingError) {
      let (store, control) = (store, control)
      let failure = await withTaskGroup(of: TreeRingError?.self) { tasks in
        tasks.addTask {
          do throws(TreeRingError) {
            try await store.reached(shown + 1)
          } catch {
            return error.code == .cancelled ? nil : error
          }
          return nil
        }
        tasks.addTask {
          await control.wait(after: turn)
          return nil
        }
        let first = await tasks.next() ?? nil
        tasks.cancelAll()
        return first
      }
      if let failure { throw failure }
    }
  }
}
