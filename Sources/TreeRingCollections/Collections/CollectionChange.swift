// The changes of a live collection, and their observers.

/// One change of a collection: positions before and after as in a batch, and the models.
public struct CollectionChange<Model: Sendable>: Sendable {
  /// The positions, among the shown models.
  public let changes: ListChanges
  /// The removed models, in the order of `changes.deletes`.
  public let removed: [Model]
  /// The models now shown at the positions of `changes.inserts`.
  public let added: [Model]
  /// The models at the targets of `changes.moves`.
  public let moved: [Model]
  /// The models at the new positions of `changes.updates`.
  public let updated: [Model]

  /// A change, as a collection would report it.
  ///
  /// - Parameters:
  ///   - changes: The positions.
  ///   - removed: The removed models, one for each of `changes.deletes`.
  ///   - added: The inserted models, one for each of `changes.inserts`.
  ///   - moved: The moved models, one for each of `changes.moves`.
  ///   - updated: The updated models, one for each of `changes.updates`.
  public init(
    changes: ListChanges, removed: [Model] = [], added: [Model] = [], moved: [Model] = [],
    updated: [Model] = []
  ) {
    precondition(
      removed.count == changes.deletes.count && added.count == changes.inserts.count
        && moved.count == changes.moves.count && updated.count == changes.updates.count,
      "a change has one model for each position it lists")
    self.changes = changes
    self.removed = removed
    self.added = added
    self.moved = moved
    self.updated = updated
  }
}

/// Receives the events of a collection, one call after the other, in the order of the events. Reads
/// during a call see the collection after the call's change and after the silent edits before it.
public protocol CollectionObserver<Model>: AnyObject, Sendable {
  /// The type of the collection's models.
  associatedtype Model: CollectionModel
  /// Called for a change.
  func collection(did change: CollectionChange<Model>)
  /// Called once after any number of changes processed in a row.
  func collectionDidChange()
  /// Called when a load begins.
  func collectionDidStartLoad()
  /// Called when a load ends, after the calls for its rows.
  func collectionDidEndLoad(_ outcome: LoadOutcome)
  /// Called after one of three failures. A prepare of a child or an update of a model failed: its
  /// row stays unchanged. Or listening ended: no more events come until the next load.
  ///
  /// - Parameters:
  ///   - error: The error thrown; `cancelled` for a prepare that timed out.
  ///   - key: The child's key or the model's identifier; nil if listening ended. For a row of a
  ///     store, ``StoreSource/key(ofChild:)`` converts the child's key to the row's.
  func collection(failedWith error: any Error, key: String?)
}

extension CollectionObserver {
  public func collection(did change: CollectionChange<Model>) {}
  public func collectionDidChange() {}
  public func collectionDidStartLoad() {}
  public func collectionDidEndLoad(_ outcome: LoadOutcome) {}
  public func collection(failedWith error: any Error, key: String?) {}
}
