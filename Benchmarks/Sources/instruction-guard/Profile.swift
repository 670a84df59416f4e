// A profile that callgrind wrote: the instructions of each function itself. Source: the manual of
// Valgrind, "Callgrind Format Specification".

internal import Foundation

/// The instructions of a run, by function.
struct Profile {
  private(set) var instructions: [Substring: Int] = [:]

  /// Reads a profile. Lines of other kinds are skipped.
  /// - Throws: `Failure` if a line of costs has no function or no number.
  init(_ text: String) throws {
    var names: [Substring: Substring] = [:]
    var function: Substring?
    // The line after a call has the costs of the called function, which has lines of its own.
    var isCall = false
    for line in text.split(separator: "\n") {
      if line.hasPrefix("fn=") {
        function = Self.name(line.dropFirst(3), &names)
      } else if line.hasPrefix("cfn=") {
        _ = Self.name(line.dropFirst(4), &names)
      } else if line.hasPrefix("calls=") {
        isCall = true
      } else if let first = line.first, first.isNumber || "+-*".contains(first) {
        defer { isCall = false }
        if isCall { continue }
        let fields = line.split(separator: " ")
        guard let function, fields.count == 2, let count = Int(fields[1]) else {
          throw Failure(description: "a profile has an unexpected line: \(line)")
        }
        instructions[function, default: 0] += count
      }
    }
  }

  /// The name of `(1) NAME`, or of `(1)` after that.
  private static func name(
    _ text: Substring, _ names: inout [Substring: Substring]
  ) -> Substring {
    guard let end = text.firstIndex(of: ")") else { return text }
    let (number, rest) = (text[...end], text[end...].dropFirst(2))
    if !rest.isEmpty { names[number] = rest }
    return names[number] ?? number
  }

  /// The parts of the names of the Swift runtime's functions that search its tables of metadata.
  /// The keys of these tables are addresses, so the number of collisions depends on the places at
  /// which libraries were loaded: for a changeset by a seventh of all instructions.
  private static let tableSearches = [
    "ConcurrentReadableHashMap", "LockingConcurrentMap", "MetadataCacheKey", "CacheEntry",
    "hash_short", "hash_combine",
  ]

  /// The instructions that do not depend on the addresses of a run.
  var countWithoutTableSearches: Int {
    instructions.reduce(0) { total, entry in
      Self.tableSearches.contains(where: entry.key.contains) ? total : total + entry.value
    }
  }
}
