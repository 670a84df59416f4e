// Building a tree from entries in key order: every entry goes to the far right, where a full page
// is left behind and a new one begun, so that all pages but the last of each level are full.

/// Builds a tree from entries in ascending key order. Belongs to its editor's transaction.
package struct TreeBuilder {
  private let editor: PageEditor
  private var root = TreeRoot.empty

  init(editor: PageEditor) { self.editor = editor }

  /// Adds an entry; its key must lie after all before.
  package mutating func append(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    let count = root.count
    let isNew = editor.put(&root, key: key, value: value)
    assert(isNew, "a key is appended twice")
    assert(
      count == 0 || Tree(root, pages: editor.pages).rank(of: key) == Int(count),
      "keys must be appended in ascending order")
  }

  /// The tree of all entries appended.
  package mutating func finish() -> TreeRoot {
    defer { root = .empty }
    return root
  }
}
