// The rows shown, as an observable state for SwiftUI.

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
    /// The rows shown now.
    public private(set) var shown = ShownRows.nothing
    /// The last change.
    public private(set) var lastChange: Change?
    /// The control of the mappings and ranges shown.
    @ObservationIgnored public let control: MappingControl
    @ObservationIgnored private let store: Store

    /// Shows groups of a store's index while ``follow()`` runs.
    public init(_ mappings: Mappings, in store: Store) {
      control = MappingControl(mappings)
      self.store = store
    }

    /// Keeps the rows shown up to date until the task is cancelled. The next call may begin at
    /// once: it starts with the state at that time.
    ///
    /// - Throws: `closed` once the store is closed; `notFound` if the index is removed.
    public func follow() async throws(TreeRingError) {
      var changes = store.changes(of: control).makeAsyncIterator()
      // A cancelled task must not overwrite the rows that its successor shows.
      while let change = try await changes.next(), !Task.isCancelled {
        shown = change.after
        lastChange = change
      }
    }
  }
#endif
