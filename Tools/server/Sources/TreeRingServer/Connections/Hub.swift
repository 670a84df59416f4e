// The hub wakes readers after commits. A round visits all readers that could have news, while the
// newest state is held for all of them, so that they share the merging of changes. The pause after
// a round is three times as long as the round, up to 50 ms, and at least as long as the round. So
// the writer keeps most of the processor, and fewer and larger changes cost less than many small
// ones.

internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import TreeRing
internal import TreeRingLive

/// All live readers of a server.
final class Hub: Sendable {
  private let service: LiveService
  private let pool: NIOThreadPool
  /// The threads of a round: at most half of the processors, so that a writer finds one free.
  private let threadCount: Int
  private let figures: ServerFigures
  private let pumps = NIOLockedValueBox<[ObjectIdentifier: Pump]>([:])
  private let state = NIOLockedValueBox(State())

  private struct State {
    /// Whether the hub waits for a commit.
    var isWaiting = false
    /// Whether a reader missed the last round, because its last message was still on its way.
    var needsRound = false
    /// Whether a thread visits readers after a write of this process.
    var isNudged = false
  }

  init(_ service: LiveService, _ pool: NIOThreadPool, threadCount: Int, _ figures: ServerFigures) {
    self.service = service
    self.pool = pool
    self.threadCount = max(1, min(threadCount - 1, System.coreCount / 2))
    self.figures = figures
  }

  /// The number of live readers.
  var count: Int { pumps.withLockedValue { $0.count } }

  func add(_ pump: Pump) {
    pumps.withLockedValue { $0[ObjectIdentifier(pump)] = pump }
    pump.poke(pool)
  }

  func remove(_ pump: Pump) {
    pump.stop()
    pumps.withLockedValue { $0[ObjectIdentifier(pump)] = nil }
  }

  /// Visits a reader again: with the next round if there is one soon, so that it shares the work,
  /// otherwise at once.
  func revisit(_ pump: Pump) {
    let isNow = state.withLockedValue { state in
      if !state.isWaiting { state.needsRound = true }
      return state.isWaiting
    }
    if isNow || pump.reader.hasMore { pump.poke(pool) }
  }

  /// Visits the readers that are due after a write of this process has ended. A round that the
  /// commit itself began may have come too early for them.
  func nudge() {
    let isNow = state.withLockedValue { state in
      if !state.isWaiting {
        state.needsRound = true
        return false
      }
      defer { state.isNudged = true }
      return !state.isNudged
    }
    guard isNow else { return }
    pool.submit {
      self.state.withLockedValue { $0.isNudged = false }
      guard $0 == .active else { return }
      for pump in self.pumps.withLockedValue({ Array($0.values) }) where pump.reader.mayBeDue {
        pump.run()
      }
    }
  }

  /// Makes rounds until the task is cancelled or the store is closed.
  ///
  /// - Throws: the error that ended the following of a writer.
  func run() async throws {
    var seen: UInt64 = 0
    while !Task.isCancelled {
      let waits = state.withLockedValue { state in
        state.isWaiting = !state.needsRound
        state.needsRound = false
        return state.isWaiting
      }
      do throws(TreeRingError) {
        if waits { try await service.store.reached(seen + 1) }
      } catch {
        if error.code == .cancelled { return }
        throw error
      }
      state.withLockedValue { $0.isWaiting = false }
      if count == 0 {
        seen = service.store.newestCommit
        continue
      }
      let start = ContinuousClock.now
      seen = try await round()
      let time = ContinuousClock.now - start
      figures.round(time)
      try? await Task.sleep(for: max(time, min(time * 3, Duration.milliseconds(50))))
    }
  }

  /// Lets all readers advance to the newest commit. Returns that commit.
  private func round() async throws -> UInt64 {
    let shared = try service.nextRound()
    let due = pumps.withLockedValue { Array($0.values) }.filter { $0.reader.mayBeDue }
    let partCount = min(threadCount, (due.count + 63) / 64)
    await withTaskGroup(of: Void.self) { tasks in
      for part in 0..<partCount {
        tasks.addTask { [pool] in
          try? await pool.runIfActive {
            let share = stride(from: part, to: due.count, by: partCount).map { due[$0] }
            for start in stride(from: 0, to: share.count, by: Self.batchCount) {
              Self.visit(share[start...].prefix(Self.batchCount))
            }
          }
        }
      }
    }
    return withExtendedLifetime(shared) { shared.commit }
  }

  /// Takes the messages of some readers, and sends those of each loop there with one wake.
  private static func visit(_ pumps: ArraySlice<Pump>) {
    var batches: [ObjectIdentifier: [Pump.Taken]] = [:]
    for taken in pumps.lazy.compactMap({ $0.take() }) {
      batches[ObjectIdentifier(taken.loop), default: []].append(taken)
    }
    for batch in batches.values {
      batch[0].loop.execute { for taken in batch { taken.send() } }
    }
  }

  /// The readers whose messages are sent at once.
  private static let batchCount = 32
}
