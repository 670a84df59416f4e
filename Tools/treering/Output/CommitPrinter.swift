// A commit in the output of `treering watch`.

import TreeRing
import TreeRingLog

enum CommitPrinter {
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
