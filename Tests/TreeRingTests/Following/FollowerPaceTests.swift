// The waits of a follower between two polls.

import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("The waits of a follower") struct FollowerPaceTests {
  /// A watch that returns at once, records the times it was asked to wait, and says what it is
  /// told.
  private final class Script: FileWatch {
    private let state = Mutex((outcome: FileWatchOutcome.timedOut, waits: [Int]()))

    var waits: [Int] { state.withLock { $0.waits } }
    func set(_ outcome: FileWatchOutcome) { state.withLock { $0.outcome = outcome } }
    func wait(milliseconds: Int) -> FileWatchOutcome {
      state.withLock { state in
        state.waits.append(milliseconds)
        return state.outcome
      }
    }
    func cancel() { set(.ended) }
  }

  @Test("While nothing happens, a follower waits longer for a report, up to half a second")
  func patience() {
    let script = Script()
    let pace = FollowerPace { script }
    for _ in 0..<5 {
      pace.record(.nothing)
      pace.wait()
    }
    #expect(script.waits == [200, 400, 500, 500, 500])
    script.set(.changed)
    pace.wait()
    pace.record(.news)
    pace.wait()
    #expect(script.waits.suffix(2) == [500, 100])
    pace.record(.nothing)
    pace.wait()
    #expect(script.waits.last == 200, "reported news does not make a follower distrust reports")
  }

  @Test("A change without a report shows that nothing is reported: then a follower polls often")
  func missedReport() {
    let script = Script()
    let pace = FollowerPace { script }
    for _ in 0..<4 {
      pace.record(.nothing)
      pace.wait()
    }
    pace.record(.news)
    for _ in 0..<4 {
      pace.wait()
      pace.record(.nothing)
    }
    #expect(script.waits == [200, 400, 500, 500, 100, 100, 100, 100])
  }

  @Test("After its watch has ended, a follower polls without one, and tries to start a new one")
  func ended() {
    let script = Script()
    let starts = Mutex(0)
    let pace = FollowerPace {
      starts.withLock { $0 += 1 }
      return script
    }
    script.set(.ended)
    pace.record(.nothing)
    pace.wait()
    pace.record(.nothing)
    pace.wait()
    #expect(script.waits.count == 1)
    while !pace.isSlowCheckDue() {}
    #expect(starts.withLock { $0 } == 2)
    pace.wait()
    #expect(script.waits.count == 2)
  }
}
