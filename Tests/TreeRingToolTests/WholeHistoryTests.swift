// Commands that read all of a store's history while its writer drops part of it.

import ArgumentParser
import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import treering

@Suite("Whole history", .leavesSoundStores) struct WholeHistoryTests {
  private let folder: TemporaryFolder
  private let writer: Store
  private var path: String { folder.path + "/s.ring" }

  init() throws {
    folder = try TemporaryFolder()
    let options = StoreOptions(
      durability: .unsynced, segmentSize: 8 << 10, logger: quietLogger)
    writer = try Store(at: folder.path + "/s.ring", options: options)
  }

  private func write(_ number: Int) throws {
    try writer.write { tx in
      try tx.put([UInt8](repeating: 7, count: 50), for: Key("\(number % 90)"), in: .bytes("b"))
      if number % 3 == 0 { try tx.delete(Key("\((number + 40) % 90)"), in: "b") }
    }
  }

  @Test("A sound store that is compacted during the replay of its log is reported as sound")
  func compactedMeanwhile() throws {
    for number in 0..<600 { try write(number) }
    try writer.checkpoint()
    let reader = Mutex<Store?>(nil)
    let compact: @Sendable () throws -> Void = {
      let report = try writer.compact(to: .keeping(.last(commits: 50)))
      #expect(report.horizon > 500)
      // A follower learns of it with the next commit or the next segment.
      while try #require(reader.withLock { $0 }).horizon == 0 {
        try write(1)
        usleep(1_000)
      }
    }
    let isDone = Atomic<Bool>(false)
    var attempts = 0
    let differences = try ProgressBar.$whenUpdated.withValue({ what, _ in
      guard what == "Replaying", !isDone.exchange(true, ordering: .relaxed) else { return }
      do { try compact() } catch { Issue.record("\(error)") }
    }) {
      try WholeHistory.reading(path) { store in
        attempts += 1
        reader.withLock { $0 = store }
        #expect((store.horizon == 0) == (attempts == 1))
        return try Replayer.differences(in: store, at: path, commit: store.newestCommit)
      }
    }
    #expect(differences == [] && attempts == 2)
    try writer.close()
  }

  @Test("Compaction that overtakes every attempt is exit code 75, not damage")
  func overtaken() throws {
    // A reader pins the history from its root on, so each attempt gets a newer root.
    func goOn() throws {
      for number in 0..<3 { try write(number) }
      try writer.checkpoint()
    }
    try goOn()
    var attempts = 0
    do {
      try WholeHistory.reading(path) { store in
        attempts += 1
        let horizon = store.horizon
        #expect(try writer.compact(to: .dropHistory).horizon > horizon)
        try goOn()
        throw TreeRingError(.beyondHorizon, "It is gone.")
      }
      Issue.record("what is gone was read")
    } catch let failure as Failure {
      #expect(failure.status == .locked && attempts > 1)
    }
    try writer.close()
  }

  @Test("A commit before the horizon is requested only once")
  func longGone() throws {
    try write(1)
    var attempts = 0
    let error = #expect(throws: TreeRingError.self) {
      try WholeHistory.reading(path) { _ in
        attempts += 1
        throw TreeRingError(.beyondHorizon, "It is gone.")
      }
    }
    #expect(error?.code == .beyondHorizon && attempts == 1)
    try writer.close()
  }

  @Test("Only errors that stand for damaged or lost bytes are findings; others are failures")
  func findings() throws {
    let command = try VerifyCommand.parse([path, "--deep"])
    for code in [TreeRingError.Code.corruption, .logBehindPages] {
      let error = TreeRingError(code, "A sentence.", file: "f", offset: 3, commit: 7)
      var report = VerificationReport()
      try report.add(error, of: path)
      #expect(
        report.findings
          == [StoreFinding(file: "f", offset: 3, commit: 7, problem: "A sentence.")])
    }
    let failures: [(TreeRingError.Code, treering.ExitStatus)] = [
      (.locked, .locked), (.io, .io), (.noSpace, .io), (.unsupportedFormat, .io),
      (.storeRewound, .io), (.beyondHorizon, .io), (.notFound, .io), (.closed, .bug),
    ]
    for (code, status) in failures {
      let failure = #expect(throws: Failure.self, "\(code)") {
        try command.checked {
          var report = VerificationReport()
          try report.add(TreeRingError(code, "A sentence."), of: path)
          return report
        }
      }
      #expect(failure?.status == status, "\(code)")
    }
    try writer.close()
  }
}
