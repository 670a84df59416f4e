// The memory of page editors, which a later editor takes over. A small commit would otherwise spend
// as much on it as on its edit.

internal import TreeRingPlatform

/// Memory for one editor at a time. A caller that passes it to a new editor has ended the editor
/// that used it before.
package final class EditorMemory {
  /// The pages on the path of the current edit.
  let path: UnsafeMutablePointer<PathStep>
  /// Behind a pointer, since the exclusivity checks of a class's stored properties cost as much as
  /// copying a page.
  let state: UnsafeMutablePointer<PageEditor.State>
  /// For callers: the record of the row that is being put. Unchecked: one thread uses it, and it is
  /// not passed `inout` while code of a caller runs.
  @exclusivity(unchecked) var record: [UInt8] = []

  package init() {
    path = .allocate(capacity: PageLayout.maxHeight)
    state = .allocate(capacity: 1)
    state.initialize(to: PageEditor.State(birth: 0))
    record.reserveCapacity(PageLayout.maxCellByteCount)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    path.deallocate()
  }
}
