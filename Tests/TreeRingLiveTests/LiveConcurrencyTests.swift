import Dispatch
import TestSupport
import Testing
import TreeRing
import TreeRingLog
import TreeRingPlatform

@testable import TreeRingLive

@Suite("Live windows on several threads")
struct LiveConcurrencyTests {
  @Test("Sessions that share rounds beside a writer, on threads of their own, end with its rows")
  func threads() throws {
    for seed in seeds(1...2) {
      var board = try LiveBoard(seed: seed)
      for _ in 0..<20 { try board.commit() }
      let service = LiveService(board.store)
      // Windows of four kinds, so that some of them share the encoded changes.
      let requests = (0..<4).map { board.request($0) }
      let isOver = Atomic<Bool>(false)
      let failures = Mutex<[String]>([])
      let readers = beginThreads(6) { number in
        let session = service.session(for: LiveAccess(.read))
        let request = requests[number % requests.count]
        session.receive(request)
        var client = LiveClient()
        do {
          while !isOver.load(ordering: .acquiring) || session.mayBeDue {
            // One of the threads holds rounds, as the server does.
            let round = number == 0 ? try service.nextRound() : nil
            if let message = try session.next() { try client.apply(message) }
            withExtendedLifetime(round) {}
          }
          let newest = service.store.newestCommit
          let expected = try LiveBoard.naive(request, at: newest, in: service.store)
          if client.sections != expected { throw LiveClient.Failure(sentence: "other rows") }
        } catch {
          failures.withLock { $0.append("reader \(number): \(error)") }
        }
      }
      for _ in 0..<300 { try board.commit() }
      isOver.store(true, ordering: .releasing)
      readers.wait()
      let found = failures.withLock { $0 }
      #expect(found.isEmpty, "seed \(seed): \(found)")
    }
  }
}
