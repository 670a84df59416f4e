// The simplest possible store: one dictionary per commit. Tests compare the engine's answers with
// it.

package import TreeRing

/// A row of the model.
package struct ModelRow: Hashable, Sendable {
  package var object: [UInt8]
  package var metadata: [UInt8]?
  package var written: UInt64
  package var created: UInt64
  /// The commit and operation that created the row, for `.created`.
  package var birth: [UInt64]

  package init(
    object: [UInt8], metadata: [UInt8]?, written: UInt64, created: UInt64, birth: [UInt64]
  ) {
    self.object = object
    self.metadata = metadata
    self.written = written
    self.created = created
    self.birth = birth
  }
}

/// The effect of a commit on a row.
package struct ModelVersion: Hashable, Sendable {
  package var commit: UInt64
  package var kind: RowVersion.Kind
  package var object: [UInt8]?
  package var metadata: [UInt8]?

  package init(commit: UInt64, kind: RowVersion.Kind, object: [UInt8]?, metadata: [UInt8]?) {
    self.commit = commit
    self.kind = kind
    self.object = object
    self.metadata = metadata
  }
}

/// Every state of a store.
package struct ModelStore: Sendable {
  /// The states by commit number; the first is the empty store.
  package var states: [[RowID: ModelRow]] = [[:]]
  /// Every version of every row, oldest first.
  package var versions: [RowID: [ModelVersion]] = [:]

  package init() {}

  /// The newest state.
  package var rows: [RowID: ModelRow] { states[states.count - 1] }
}
