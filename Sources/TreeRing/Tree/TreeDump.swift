// A tree as text, for tests and for inspecting a store: one line a page, indented by depth.

/// Writes a tree as text.
package enum TreeDump {
  /// The tree as text, one line per page: number, birth, entries, prefix, then keys (leaves) or
  /// separators. O(entries).
  package static func text(of root: TreeRoot, pages: PageStore) -> String {
    var lines = ["tree of \(root.count)"]
    if root.page != 0 { append(pages.table.top(of: root), pages, indent: "  ", to: &lines) }
    return lines.joined(separator: "\n")
  }

  private static func append(
    _ page: Page, _ pages: PageStore, indent: String, to lines: inout [String]
  ) {
    let kind = page.level == 0 ? "leaf" : "inner \(page.level)"
    let keys = (page.level == 0 ? 0 : 1)..<max(1, page.cellCount)
    let shown = page.cellCount == 0 ? [] : keys.map { text(of: page.key(at: $0)) }
    lines.append(
      "\(indent)\(kind) \(page.number) born \(page.birth), \(page.entryCount) entries, "
        + "\(page.usedByteCount) bytes, prefix \(page.prefixLength): "
        + shown.joined(separator: " "))
    if page.level == 0 { return }
    for index in 0..<page.cellCount {
      append(pages.table.child(of: page, at: index), pages, indent: indent + "  ", to: &lines)
    }
  }

  /// A key as text: printable bytes as they are, others as \xx.
  package static func text(of key: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    var text = "\""
    for byte in key {
      if byte >= 0x20, byte < 0x7f, byte != 0x5c, byte != 0x22 {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "\\\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
    return text + "\""
  }
}
