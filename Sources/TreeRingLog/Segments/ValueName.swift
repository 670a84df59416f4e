// The name of a logged value within its commit.

/// The name of a logged value inside its commit.
package struct ValueName: Hashable, Sendable {
  /// The index of the operation.
  package var operation: UInt32
  /// The number of the part; it may be one that this version does not know.
  package var part: UInt32

  package init(_ operation: UInt32, _ part: ValuePart) {
    self.operation = operation
    self.part = UInt32(part.rawValue)
  }

  init(_ entry: ValueEntry) { (operation, part) = (entry.operation, entry.part) }
}
