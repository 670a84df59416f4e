// What is shown, for SwiftUI: a state that views observe.

#if canImport(Observation)
  public import Observation
  public import TreeRing
  public import TreeRingLog

  /// The rows that mappings show, kept up to date while ``follow()`` runs.
  /// ```swift
  /// List { ForEach(rows.shown.sections, id: \.group) { section in … } }
  ///   .task { try? await rows.follow() }
  /// ```
  @MainActor
  @Observable
  public final class ObservedRows {
    /// What is shown now.
    public private(set) var shown = ShownRows.nothing
    /// How it got there.
    public private(set) var lastChange: Change?
    /// Changes what is shown.
    @ObservationIgnored public let control: MappingControl
    @ObservationIgnored private let store: Store

    /// Shows groups of an index of a store, once it is followed.
    public init(_ mappings: Mappings, in store: Store) {
      control = MappingControl(mappings)
      self.store = store
    }

    /// Keeps what is shown up to date until the task is cancelled. The next call may begin at once: it
    /// starts with the state as of then.
    ///
    /// - Throws: `closed` once the store is closed; `notFound` if the index is removed.
    public func follow() async throws(TreeRingError) {
      var changes = store.changes(of: control).makeAsyncIterator()
      // A task that was cancelled meanwhile must not overwrite what the one after it shows.
      while let change = try await changes.next(), !Task.isCancelled {
        shown = change.after
        lastChange = change
      }
    }
  }
#endif
