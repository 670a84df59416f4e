// The hub wakes readers after commits. A round visits all readers that could have news, while the
// newest state is held for all of them, so that they share the merging of changes. The pause after
// a round is as long as the round, so that the writer keeps at least half of the processor.

internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOPosix
internal import TreeRing
internal import TreeRingLive

/// All live readers of a server.
final class Hub: Sendable {
  private let service: LiveService
  private let pool: NIOThreadPool
  private let threadCount: Int
  private let figures: ServerFigures
  private let pumps = NIOLockedValueBox<[ObjectIdentifier: Pump]>([:])

  init(_ service: LiveService, _ pool: NIOThreadPool, threadCount: Int, _ figures: ServerFigures) {
    self.service = service
    self.pool = pool
    self.threadCount = max(1, threadCount - 1)
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

  /// Makes rounds until the task is cancelled or the store is closed.
  ///
  /// - Throws: the error that ended the following of a writer.
  func run() async throws {
    var seen: UInt64 = 0
    while !Task.isCancelled {
      do throws(TreeRingError) {
        try await service.store.reached(seen + 1)
      } catch {
        if error.code == .cancelled { return }
        throw error
      }
      seen = service.store.newestCommit
      if count == 0 { continue }
      let start = ContinuousClock.now
      await round()
      let time = ContinuousClock.now - start
      figures.round(time)
      try? await Task.sleep(for: time)
    }
  }

  private func round() async {
    let due = pumps.withLockedValue { Array($0.values) }.filter { $0.reader.mayBeDue }
    if due.isEmpty { return }
    let shared = service.shareNewest()
    let partCount = min(threadCount, (due.count + 63) / 64)
    await withTaskGroup(of: Void.self) { tasks in
      for part in 0..<partCount {
        tasks.addTask { [pool] in
          try? await pool.runIfActive {
            for index in stride(from: part, to: due.count, by: partCount) { due[index].run() }
          }
        }
      }
    }
    withExtendedLifetime(shared) {}
  }
}
