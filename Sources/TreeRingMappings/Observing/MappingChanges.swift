// A stream of changes: an observer, pulled whenever a commit or a change by hand gives reason to.

public import TreeRing
public import TreeRingLog

extension Store {
  /// The changes of what mappings show: first a reset with the full state, then one minimal change
  /// after the other. A slow reader gets one merged change, never a backlog. Ends when the task is
  /// cancelled.
  ///
  ///     for try await change in store.changes(of: chats) {
  ///       table.apply(change)
  ///     }
  ///
  /// - Parameters:
  ///   - mappings: What is shown.
  ///   - limit: The most operations worth listing; a larger change is a reset.
  public func changes(of mappings: Mappings, limit: Int = 500) -> MappingChanges {
    changes(of: MappingControl(mappings), limit: limit)
  }

  /// The changes of what a control says is to be shown, which may change meanwhile.
  ///
  /// - Parameters:
  ///   - control: Says what is shown, and goes on saying it.
  ///   - limit: The most operations worth listing; a larger change is a reset.
  public func changes(of control: MappingControl, limit: Int = 500) -> MappingChanges {
    MappingChanges(store: self, control: control, limit: limit)
  }
}

/// A stream of the changes of what mappings show. Each iteration starts with a reset.
public struct MappingChanges: AsyncSequence, Sendable {
  /// A change.
  public typealias Element = Change
  let store: Store
  let control: MappingControl
  let limit: Int

  public func makeAsyncIterator() -> Iterator {
    let mappings = control.request().request?.mappings
    return Iterator(
      observer: store.observer(of: mappings ?? Mappings(of: "", groups: []), limit: limit),
      control: control)
  }

  /// Where one reader stands.
  public struct Iterator: AsyncIteratorProtocol {
    var observer: MappingObserver
    let control: MappingControl
    /// The turn of the control that has been delivered.
    private var delivered: Int?

    init(observer: MappingObserver, control: MappingControl) {
      self.observer = observer
      self.control = control
    }

    /// The next change, as soon as there is one in what is shown; nil once the task is cancelled.
    ///
    /// - Throws: `closed` once the store is closed; `notFound` if the index is removed; `invalidInput`
    ///   if a range was to change of a group that has none. After that one it goes on without; after any
    ///   other, what its control was asked for still waits to be delivered.
    public mutating func next() async throws(TreeRingError) -> Change? {
      while !Task.isCancelled {
        let (request, turn) = control.request()
        guard let request else {
          await control.waits(after: turn)
          continue
        }
        if let shown = observer.commit, delivered == turn {
          try await wait(beyond: shown, turn)
          if Task.isCancelled { return nil }
        }
        let change: Change
        do throws(TreeRingError) {
          change = try observer.advance(mappings: request.mappings, changing: request.changes)
        } catch {
          if error.code == .invalidInput { control.drop(request) }
          throw error
        }
        control.settle(request, showing: observer.mappings)
        delivered = turn
        if !change.isEmpty { return change }
      }
      return nil
    }

    /// Waits for a commit, or for the control.
    private func wait(beyond shown: CommitNumber, _ turn: Int) async throws(TreeRingError) {
      let (store, control) = (observer.store, control)
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
          await control.waits(after: turn)
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
