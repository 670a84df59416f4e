// Definitions made ready once and used by every commit after.

internal import Synchronization
internal import TreeRingLog

/// The definitions of the indexes that the newest version maintains.
final class ActiveIndexCache: Sendable {
  private let cached = Mutex<[UInt32: ActiveIndex]>([:])

  /// The definitions of a version's index trees, in their order; nil where the closure is not
  /// registered, so that the index must be left behind.
  func active(
    for version: Version, code: [CodeIndex]
  ) throws(TreeRingError) -> [ActiveIndex?] {
    var active: [ActiveIndex?] = []
    for roots in version.roots.indexes {
      if let index = cached.withLock({ $0[roots.number] }) {
        active.append(index)
        continue
      }
      let record = version.catalog.indexes.values.first { $0.number == roots.number }
      let index = try record?.active(code: code)
      if let index { cached.withLock { $0[roots.number] = index } }
      active.append(index)
    }
    return active
  }

  /// Forgets all, because closures have changed.
  func clear() { cached.withLock { $0 = [:] } }
}
