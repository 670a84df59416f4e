import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing

@Suite("Read sections, concurrently") struct ReadSectionsConcurrencyTests {
  @Test("A ticket passes when the sections begun before it have ended, and not earlier")
  func waits() {
    let sections = ReadSections()
    #expect(sections.hasPassed(sections.ticket()))
    let place = sections.enter()
    let first = sections.ticket()
    #expect(!sections.hasPassed(first))
    #expect(!sections.wait(for: first, atMost: 30))
    #expect(!sections.hasPassed(first), "asking has not ended a section")
    let later = sections.enter()
    let second = sections.ticket()
    sections.leave(place)
    #expect(sections.hasPassed(first), "what began later is not waited for")
    #expect(!sections.hasPassed(second))
    sections.leave(later)
    #expect(sections.hasPassed(second))
    sections.waitForOthers()
  }

  @Test("Tickets pass although there is always a running section", arguments: [1, 2, 5])
  func overlapping(length: Int) {
    let sections = ReadSections()
    var open: [Int] = []
    var tickets: [(round: Int, ticket: ReadSections.Ticket)] = []
    for round in 0..<100 {
      open.append(sections.enter())
      tickets.append((round, sections.ticket()))
      if open.count > length { sections.leave(open.removeFirst()) }
      let passed = tickets.prefix { sections.hasPassed($0.ticket) }
      for (drawn, _) in passed {
        #expect(drawn + length <= round, "a section begun before it is open")
      }
      tickets.removeFirst(passed.count)
      // A ticket may wait for the sections of two swaps.
      #expect(tickets.count <= 2 * length + 2)
    }
  }

  @Test("Threads that run at once have different numbers, the same ones at every call")
  func threadNumbers() {
    let numbers = Mutex<[UInt32]>([])
    let began = Atomic<Int>(0)
    onThreads(64) { _ in
      let number = ReadSections.threadNumber
      began.add(1, ordering: .sequentiallyConsistent)
      // None ends before all have begun.
      while began.load(ordering: .sequentiallyConsistent) < 64 { usleep(100) }
      #expect(ReadSections.threadNumber == number)
      numbers.withLock { $0.append(number) }
    }
    let found = numbers.withLock { $0 }
    #expect(Set(found).count == 64 && !found.contains(0))
  }

  @Test("Memory reused after the wait is never read through old pointers")
  func reclaims() {
    let shared = Shared()
    shared.cells[0].store(1, ordering: .releasing)
    onThreads(4) { $0 == 0 ? shared.replace() : shared.read() }
    #expect(shared.wrong.load(ordering: .relaxed) == 0)
  }

  /// Cells that hold 1 while reading them is allowed, and the index of the current one.
  private final class Shared: Sendable {
    let sections = ReadSections()
    let cells: UnsafeCells
    let current = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    let wrong = Atomic<Int>(0)

    init() { cells = UnsafeCells() }

    func read() {
      while !isDone.load(ordering: .acquiring) {
        let place = sections.enter()
        let cell = current.load(ordering: .acquiring)
        for _ in 0..<10 where cells[cell].load(ordering: .relaxed) != 1 {
          wrong.add(1, ordering: .relaxed)
        }
        sections.leave(place)
      }
    }

    func replace() {
      for round in 1..<2000 {
        let old = current.load(ordering: .relaxed)
        cells[round % 64].store(1, ordering: .releasing)
        current.store(round % 64, ordering: .releasing)
        sections.waitForOthers()
        cells[old].store(0, ordering: .releasing)
      }
      isDone.store(true, ordering: .releasing)
    }
  }

  /// Sixty-four atomics.
  private final class UnsafeCells: @unchecked Sendable {
    private let start = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: 64)
    init() { for index in 0..<64 { (start + index).initialize(to: Atomic(0)) } }
    deinit { start.deallocate() }
    subscript(index: Int) -> UnsafeMutablePointer<Atomic<Int>>.Pointee {
      _read { yield start[index] }
    }
  }
}
