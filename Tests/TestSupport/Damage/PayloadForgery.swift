// Writes a log with payloads that no store has written, to reach the code that decodes and applies
// them.

internal import TreeRing
package import TreeRingLog

extension StoreDamage {
  /// Replaces the files by a new log: the given commits, some of them with changed payloads.
  package mutating func forge(_ drafts: [CommitDraft]) {
    var drafts = drafts
    for _ in 0...below(2) {
      let index = below(drafts.count)
      for _ in 0...below(3) { change(&drafts[index].payload, drafts[below(drafts.count)].payload) }
      drafts[index].operationCount =
        Self.operationCount(of: drafts[index]) ?? drafts[index].operationCount
      steps.append("the payload of commit \(index + 1) is forged")
    }
    do { replaceFiles(by: try Self.log(of: drafts)) } catch { steps.append("\(error)") }
  }

  private mutating func change(_ payload: inout [UInt8], _ other: [UInt8]) {
    guard !payload.isEmpty else { return }
    let place = below(payload.count)
    switch below(7) {
    case 0: payload[place] ^= 1 << UInt8(below(8))
    case 1: payload[place] = [0, 1, 2, 8, 10, 12, 13, 127, 128, 255][below(10)]
    case 2:
      // Replaces a byte by an integer of any size.
      var number: [UInt8] = []
      number.append(integer: some(Self.extremes) ?? 0)
      payload.replaceSubrange(place...place, with: number)
    case 3: payload.removeSubrange(place..<min(payload.count, place + 1 + below(6)))
    case 4:
      let start = below(max(1, other.count))
      payload.insert(contentsOf: other[start..<min(other.count, start + 1 + below(60))], at: place)
    case 5: payload += other.dropFirst()
    default: payload[place] &+= UInt8(below(5)) &- 2
    }
  }

  /// The number of operations of a payload; nil if it cannot be decoded.
  private static func operationCount(of draft: CommitDraft) -> UInt32? {
    try? draft.payload.withUnsafeBytes { payload in
      var reader = try PayloadReader(payload, commit: draft.number)
      while try reader.next() != nil {}
      return reader.count
    }
  }

  private static func log(of drafts: [CommitDraft]) throws -> [String: [UInt8]] {
    let disk = MemoryFileSystem()
    try disk.makeDirectory("store")
    var options = LogOptions(access: .create)
    options.logger = quietLogger
    let log = try CommitLog(directory: "store/log", fileSystem: disk, options: options)
    for draft in drafts { try log.complete(log.append(draft)) }
    try log.close()
    var files: [String: [UInt8]] = [:]
    for name in try disk.list("store/log") {
      files["log/\(name)"] = disk.contents(of: "store/log/\(name)")
    }
    return files
  }
}
