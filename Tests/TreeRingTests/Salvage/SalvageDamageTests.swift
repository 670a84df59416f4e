// Salvage of a small store, with each file of its log damaged in each way at each kind of offset,
// compared with the log's contents. No whole commit is lost. Every missing commit is named or
// doubted. The report states "nothing was lost" only if that is true, and the new store is sound.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Salvage after every kind of damage to every file")
struct SalvageDamageTests {
  /// The damage to a file of the log from an offset on.
  enum Damage: CaseIterable {
    case cut, zeros, noise, flip, remove

    /// The damaged bytes; nil if the file is removed.
    func apply(to bytes: [UInt8], from place: Int) -> [UInt8]? {
      switch self {
      case .cut: return Array(bytes[..<place])
      case .zeros: return bytes[..<place] + [UInt8](repeating: 0, count: bytes.count - place)
      case .noise:
        var random = SeededGenerator(seed: UInt64(place) + 1)
        return bytes[..<place]
          + (place..<bytes.count).map { _ in UInt8.random(in: 1...255, using: &random) }
      case .flip:
        var bytes = bytes
        if place < bytes.count { bytes[place] ^= 0x41 }
        return bytes
      case .remove: return nil
      }
    }
  }

  /// A closed store of at least three segments, and the locations of its log's frames.
  private struct Sample {
    var files: [String: [UInt8]] = [:]
    /// By commit: the file and the byte range.
    var frames: [CommitNumber: (name: String, range: Range<Int>)] = [:]
    /// By file: the offsets at which damage begins.
    var places: [String: [Int]] = [:]
    var newest: CommitNumber = 0
    var horizon: CommitNumber = 0
    /// The rows by commit, from the horizon on.
    var states: [CommitNumber: [String: [UInt8]]] = [:]

    init(isClosed: Bool, isCompacted: Bool) throws {
      let disk = MemoryFileSystem()
      let options = StoreOptions(segmentSize: 1500, logger: quietLogger)
      let store = try Store(path: "store", fileSystem: disk, options: options)
      func commit(_ number: Int) throws {
        try store.write { tx in
          let bytes = [UInt8](repeating: UInt8(number), count: 20 + number % 5 * 30)
          try tx.put(bytes, for: Key("k\(number % 7)"), in: blobs)
          if number % 6 == 5 { try tx.delete(Key("k\((number + 3) % 7)"), in: "blobs") }
        }
      }
      for number in 1...20 { try commit(number) }
      if isCompacted { try store.compact(to: .before(15)) }
      for number in 21...26 { try commit(number) }
      (newest, horizon) = (store.newestCommit, store.horizon)
      for number in max(horizon, 1)...newest {
        states[number] = try rows(store.snapshot(at: .commit(number)))
      }
      if isClosed { try store.close() } else { try store.sync() }
      for name in try disk.list("store/log") {
        files["log/\(name)"] = disk.contents(of: "store/log/\(name)")
        var starts: [Int] = []
        try dumpSegment(file: "store/log/\(name)", fileSystem: disk) { [newest] piece in
          let range = Int(piece.offset)..<Int(piece.offset + piece.length)
          if piece.state == .commit, let commit = piece.commit, commit <= newest {
            frames[commit] = ("log/\(name)", range)
          }
          if piece.state != .zeroTail { starts.append(range.lowerBound) }
        }
        // The offsets: the start of the file, and in the first, a middle and the last frame the
        // beginning, the inside of the header, the inside of the content, and the last byte.
        let ends = starts.dropFirst() + [files["log/\(name)"]?.count ?? 0]
        let chosen = Set([0, 1, starts.count / 2, starts.count - 2, starts.count - 1])
        for index in chosen.filter(starts.indices.contains) {
          let (start, end) = (starts[index], ends[ends.startIndex + index])
          for place in [start, start + 14, start + 60, (start + 92 + end) / 2, end - 1]
          where place >= start && place < end {
            places["log/\(name)", default: []].append(place)
          }
        }
      }
      files["pages"] = disk.contents(of: "store/pages")
      if !isClosed { try store.close() }
    }
  }

  @Test(
    "Every loss is listed or doubted, whatever file is damaged, how and where",
    arguments: [(true, false), (true, true), (false, false)])
  func everyFile(isClosed: Bool, isCompacted: Bool) throws {
    let sample = try Sample(isClosed: isClosed, isCompacted: isCompacted)
    #expect(sample.files.keys.count { $0.hasPrefix("log/") } >= 3)
    for hasPages in [true, false] {
      var files = sample.files
      if !hasPages { files["pages"] = nil }
      for (name, places) in sample.places.sorted(by: { $0.key < $1.key }) {
        for damage in Damage.allCases {
          for place in damage == .remove ? [0] : places {
            var damaged = files
            let bytes = try #require(files[name])
            damaged[name] = damage.apply(to: bytes, from: place)
            let context: Comment = "\(damage) of \(name) at \(place), pages \(hasPages)"
            let end = damage == .flip ? place + 1 : Int.max
            try check(damaged, sample, name, place..<end, damage, context)
          }
        }
      }
    }
  }

  private func check(
    _ files: [String: [UInt8]], _ sample: Sample, _ name: String, _ damaged: Range<Int>,
    _ damage: Damage, _ context: Comment
  ) throws {
    let disk = MemoryFileSystem()
    for folder in ["store", "store/log"] { try disk.makeDirectory(folder) }
    for (name, bytes) in files { disk.setContents(of: "store/\(name)", to: bytes) }
    let options = StoreOptions(segmentSize: 1500, logger: quietLogger)
    let report = try Store.salvage(from: "store", to: "saved", on: disk, options: options)
    // A frame is gone if its bytes differ. Zeros over a frame that ends in zeros may leave it
    // intact.
    let (before, after) = (sample.files[name] ?? [], files[name] ?? [])
    let gone = sample.frames.filter { _, frame in
      guard frame.name == name, frame.range.overlaps(damaged) else { return false }
      return frame.range.upperBound > after.count || before[frame.range] != after[frame.range]
    }.map(\.key)
    let lost = Set(report.lostCommits.flatMap { Array($0) })
    // Zeros over zeros, or a cut behind everything, damage nothing.
    let isChanged = files[name] != sample.files[name]
    if isChanged {
      let unnamed = gone.filter { !lost.contains($0) }
      #expect(unnamed.isEmpty || !report.doubts.isEmpty, "\(context): \(unnamed)")
      if !gone.isEmpty { #expect(!report.isComplete, context) }
    } else if sample.files["pages"] == files["pages"] {
      #expect(lost.isEmpty && report.findings.isEmpty, context)
    }
    for number in sample.frames.keys where !(isChanged && gone.contains(number)) {
      #expect(!lost.contains(number), "\(context): \(number) is not lost")
    }
    #expect(lost.allSatisfy { $0 <= sample.newest }, context)
    #expect(
      report.commitCount == UInt64(sample.frames.count - (isChanged ? gone.count : 0)), context)
    try checkStates(disk, sample, lost.union(isChanged ? gone : []), report, context)
  }

  /// Checks that the readable states of the new store equal the old ones, up to the first lost
  /// commit.
  private func checkStates(
    _ disk: MemoryFileSystem, _ sample: Sample, _ lost: Set<CommitNumber>,
    _ report: SalvageReport, _ context: Comment
  ) throws {
    let options = StoreOptions(segmentSize: 1500, logger: quietLogger)
    let saved = try Store(path: "saved", fileSystem: disk, options: options)
    defer { try? saved.close() }
    #expect(saved.newestCommit == report.lastCommit && saved.horizon == report.horizon, context)
    #expect(try saved.checkInvariants() == [], context)
    let exact = (lost.min() ?? .max) - 1
    for number in 1...max(saved.newestCommit, 1) where saved.newestCommit > 0 {
      guard number >= saved.horizon else {
        #expect(code { try saved.snapshot(at: .commit(number)) } == .beyondHorizon, context)
        continue
      }
      let rows = try rows(saved.snapshot(at: .commit(number)))
      if number <= exact {
        #expect(rows == sample.states[number], "\(context): state \(number)")
      }
    }
  }
}

private func rows(_ snapshot: Snapshot) throws -> [String: [UInt8]] {
  var rows: [String: [UInt8]] = [:]
  try snapshot.forEachRow(in: "blobs") { row in
    rows[row.key.description] = row.object
    return true
  }
  return rows
}
