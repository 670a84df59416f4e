// The error of every call after a store has been closed.

internal import TreeRingLog

extension TreeRingError {
  static var storeClosed: TreeRingError {
    TreeRingError(.closed, "The store has been closed. Open it again to use it.")
  }
}
