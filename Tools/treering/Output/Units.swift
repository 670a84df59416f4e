// Numbers for people.

import Foundation

enum Units {
  /// A number with its noun: `1 row`, `2 rows`.
  static func count(_ count: some BinaryInteger, _ thing: String) -> String {
    count == 1 ? "1 \(thing)" : "\(count) \(thing)s"
  }

  /// A number of bytes in a suitable unit.
  static func bytes(_ count: some BinaryInteger) -> String {
    var value = Double(count)
    for unit in ["B", "KB", "MB", "GB", "TB"] {
      if value < 1000 || unit == "TB" {
        return unit == "B" ? "\(count) B" : String(format: "%.1f %@", value, unit)
      }
      value /= 1000
    }
    return "\(count) B"
  }

  /// A number of seconds with a useful number of digits.
  static func seconds(_ seconds: Double) -> String {
    String(format: seconds < 10 ? "%.2f s" : "%.1f s", seconds)
  }
}
