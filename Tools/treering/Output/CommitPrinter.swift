// A commit in the output of `treering log` and `treering watch`.

import TreeRing
import TreeRingLog

enum CommitPrinter {
  /// One JSON object.
  static func json(_ info: CommitInfo, tags: [String], _ output: Output) throws {
    try output.object {
      $0.number("commit", info.number)
      $0.date("at", info.timestamp)
      $0.number("operations", info.operationCount)
      $0.number("bytes", info.byteCount)
      if let note = info.note { $0.text("note", note) }
      if !tags.isEmpty { $0.texts("tags", tags) }
    }
  }

  /// One line for a person. It does not depend on later lines.
  static func line(_ info: CommitInfo, _ output: Output) throws {
    var parts = [
      "\(info.number)", ISO8601.format(info.timestamp),
      Units.count(info.operationCount, "operation"), "\(info.byteCount) bytes",
    ]
    if !info.tags.isEmpty { parts.append(info.tags.joined(separator: " ")) }
    if let note = info.note { parts.append(note) }
    try output.line(parts.joined(separator: "  "))
  }
}
