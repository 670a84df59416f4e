import Dispatch
import Testing
import TreeRingPlatform

@testable import TreeRing

@Suite("A value that is set once") struct OnceTests {
  /// The number of living objects.
  private final class Tally: Sendable {
    let count = Atomic<Int>(0)
  }

  private final class Object: Sendable {
    let number: Int
    private let tally: Tally

    init(_ number: Int, _ tally: Tally) {
      (self.number, self.tally) = (number, tally)
      tally.count.add(1, ordering: .relaxed)
    }

    deinit { tally.count.subtract(1, ordering: .relaxed) }
  }

  private final class Holder: Sendable {
    let once = Once<Object>()
  }

  @Test("is that of one of the threads that set it, and is released with its holder")
  func threads() {
    for _ in 0..<200 {
      let tally = Tally()
      do {
        let holder = Holder()
        #expect(holder.once.value == nil)
        DispatchQueue.concurrentPerform(iterations: 4) { number in
          holder.once.set(Object(number, tally))
          let seen = holder.once.value?.number
          holder.once.set(Object(number + 4, tally))
          #expect(seen != nil && holder.once.value?.number == seen)
        }
        #expect(holder.once.value.map { $0.number < 4 } == true)
        #expect(tally.count.load(ordering: .relaxed) == 1)
      }
      #expect(tally.count.load(ordering: .relaxed) == 0)
    }
  }
}
