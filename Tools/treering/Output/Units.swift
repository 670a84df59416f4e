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

  /// A duration in nanoseconds in a suitable unit, with three digits.
  static func latency(_ nanoseconds: UInt64) -> String {
    var value = Double(nanoseconds)
    for unit in ["ns", "µs", "ms"] {
      if value < 999.5 {
        return unit == "ns" ? "\(nanoseconds) ns" : "\(threeDigits(value)) \(unit)"
      }
      value /= 1000
    }
    return "\(threeDigits(value)) s"
  }

  /// A number per second, with at least three digits.
  static func rate(_ value: Double) -> String { threeDigits(value) }

  private static func threeDigits(_ value: Double) -> String {
    String(format: value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value)
  }

  /// A number of seconds with a useful number of digits.
  static func seconds(_ seconds: Double) -> String {
    String(format: seconds < 10 ? "%.2f s" : "%.1f s", seconds)
  }
}
