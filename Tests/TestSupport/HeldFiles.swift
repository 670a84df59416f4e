// Which of the files that were opened are held by somebody: those that take a descriptor each on a disk.

internal import Synchronization
package import TreeRingLog

/// Is told of each file that is opened, and keeps none of them.
package final class HeldFiles: Sendable {
  private struct Held: Sendable {
    weak let file: (any File)?
  }
  private struct State: Sendable {
    var files: [Held] = []
    var most = 0
  }
  private let state = Mutex(State())

  package init() {}

  /// A file has been opened.
  package func note(_ file: any File) {
    state.withLock { state in
      state.files.removeAll { $0.file == nil }
      state.files.append(Held(file: file))
      state.most = max(state.most, state.files.count)
    }
  }

  /// The paths of the files held now, under which each was opened.
  package var paths: [String] {
    state.withLock { state in state.files.compactMap { $0.file?.path } }
  }

  /// How many were held at a time since the last call, at most.
  package func takeMost() -> Int {
    state.withLock { state in
      defer { state.most = 0 }
      return state.most
    }
  }
}
