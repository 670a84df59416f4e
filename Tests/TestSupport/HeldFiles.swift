// The opened files that are still in use. On a disk, each of them takes a descriptor.

package import TreeRingLog
internal import TreeRingPlatform

/// Records each opened file without keeping it open.
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

  /// Records an opened file.
  package func note(_ file: any File) {
    state.withLock { state in
      state.files.removeAll { $0.file == nil }
      state.files.append(Held(file: file))
      state.most = max(state.most, state.files.count)
    }
  }

  /// The paths of the files held now, as they were opened.
  package var paths: [String] {
    state.withLock { state in state.files.compactMap { $0.file?.path } }
  }

  /// The maximum number of files held at a time since the last call.
  package func takePeak() -> Int {
    state.withLock { state in
      defer { state.most = 0 }
      return state.most
    }
  }
}
