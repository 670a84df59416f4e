// Opening removes leftover files, but only after it has proved that nothing needs them.

import Logging
import TestSupport
import Testing

@testable import TreeRingLog

@Suite("Leftovers of interrupted operations")
struct LeftoverTests {
  /// A log of some segments.
  private static func written(_ disk: SimulatedFileSystem, commits: Int) throws -> CommitLog {
    var options = DamageTests.options(.create)
    options.segmentSize = 700
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    for number in 1...CommitNumber(commits) {
      try log.complete(log.append(SampleCommits.draft(number, .full)))
    }
    return log
  }

  private static func options(
    _ recovery: RecoveryMode, trusting position: LogPosition? = nil
  ) -> LogOptions {
    var options = DamageTests.options(.readWrite)
    options.recovery = recovery
    options.trusted = position
    return options
  }

  /// A disk that holds both generations of a segment, as after a crash that undoes the removal of
  /// the lower one.
  private static func compacted() throws -> (
    disk: SimulatedFileSystem, lower: String, higher: String, position: LogPosition
  ) {
    let disk = SimulatedFileSystem(seed: 1)
    let log = try written(disk, commits: 20)
    let position = try log.position(of: 20)
    let old = log.segments[1]
    let bytes = try #require(disk.contents(of: old.path))
    try log.rewrite(segment: old.firstCommit, horizon: 0) { _, _ in .keep }
    let higher = log.segments[1].path
    #expect(higher != old.path)
    try log.close()
    disk.replace(old.path, with: bytes)
    return (disk, old.path, higher, position)
  }

  @Test(
    "A lower generation stays until the higher one has been read whole", arguments: [false, true])
  func lowerGeneration(isTrusting: Bool) throws {
    let (disk, lower, higher, position) = try Self.compacted()
    let size = try #require(disk.contents(of: higher)).count
    for offset in stride(from: 0, to: size, by: 17) {
      let damaged = disk.afterKill()
      damaged.damage(higher, at: offset) { $0 ^ 4 }
      let before = damaged.paths
      do {
        _ = try CommitLog(
          directory: "log", fileSystem: damaged,
          options: Self.options(.tail, trusting: isTrusting ? position : nil))
        Issue.record("the flip at \(offset) was not detected")
      } catch { #expect(error.code == .corruption, "offset \(offset): \(error)") }
      #expect(damaged.paths == before, "offset \(offset)")
      var commits: Set<CommitNumber> = []
      _ = try scanReadable(directory: "log", fileSystem: damaged) {
        commits.insert($0.header.number)
        return true
      }
      #expect(commits.count == 20, "offset \(offset)")
    }
    let log = try CommitLog(
      directory: "log", fileSystem: disk,
      options: Self.options(.tail, trusting: isTrusting ? position : nil))
    #expect(log.completed == 20 && log.recoveryReport.removedFiles == [lower])
    #expect(!disk.paths.contains(lower))
  }

  @Test("Mode `prefix` sets aside a damaged segment and the lower generation that it replaced")
  func prefix() throws {
    let (disk, lower, higher, _) = try Self.compacted()
    disk.damage(higher, at: 8) { $0 ^ 4 }
    let log = try CommitLog(
      directory: "log", fileSystem: disk, options: Self.options(.prefix))
    let end = log.completed
    #expect(end > 0 && end < 20)
    try log.complete(log.append(SampleCommits.draft(end + 1, .full)))
    try log.close()
    // Later commits go to a segment that has the name of the lower one.
    #expect(!disk.paths.contains(higher))
    for path in [lower, higher] { #expect(disk.paths.contains(path + ".ignored")) }
    let again = try CommitLog(
      directory: "log", fileSystem: disk, options: Self.options(.tail))
    #expect(again.completed == end + 1)
  }

  @Test("A copied tail is cut off only after its copy has been read whole")
  func supersededTail() throws {
    let disk = SimulatedFileSystem(seed: 3)
    let log = try CommitLog(
      directory: "log", fileSystem: disk, options: DamageTests.options(.create))
    for number in 1...9 as ClosedRange<CommitNumber> {
      try log.complete(log.append(SampleCommits.draft(number, number < 5 ? .full : .unsynced)))
    }
    // The copy has its name, and the process is killed before it cuts the source segment.
    let killed = disk.afterKill()
    var copied: SimulatedFileSystem?
    var calls = 1
    while copied == nil {
      let next = killed.afterKill()
      next.crash(after: calls)
      _ = try? CommitLog(
        directory: "log", fileSystem: next, options: Self.options(.tail))
      if next.paths.count(where: { $0.hasSuffix(".lz4") }) == 2 { copied = next.afterKill() }
      calls += 1
    }
    let found = try #require(copied)
    let (old, new) = (found.paths[0], found.paths[1])
    let size = try #require(found.contents(of: new)).count
    for offset in stride(from: 0, to: size, by: 41) {
      let damaged = found.afterKill()
      damaged.damage(new, at: offset) { $0 ^ 4 }
      do {
        _ = try CommitLog(
          directory: "log", fileSystem: damaged, options: Self.options(.tail))
        Issue.record("the flip at \(offset) was not detected")
      } catch { #expect(error.code == .corruption, "offset \(offset): \(error)") }
      #expect(damaged.contents(of: old) == found.contents(of: old), "offset \(offset)")
    }
    let whole = try CommitLog(
      directory: "log", fileSystem: found.afterKill(), options: Self.options(.tail))
    #expect(whole.completed == 9)
    // Without its end, the copy appears to have a torn tail. Only its source shows the loss.
    let short = try #require(copied).afterKill()
    short.replace(new, with: Array(try #require(short.contents(of: new)).dropLast(100)))
    do {
      _ = try CommitLog(directory: "log", fileSystem: short, options: Self.options(.tail))
      Issue.record("the short copy was not detected")
    } catch { #expect(error.code == .corruption) }
    #expect(short.contents(of: old) == found.contents(of: old))
  }
}
