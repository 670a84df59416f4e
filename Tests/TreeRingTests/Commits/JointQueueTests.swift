// The parts of the threads of joint writes: all orders of events of a few writers.

import Testing

@testable import TreeRing

@Suite("The queue of joint writes")
struct JointQueueTests {
  /// A write: its number, which is that of its writer in the last digit.
  private final class Write: Hashable, CustomStringConvertible {
    let number: Int
    init(_ number: Int) { self.number = number }
    var description: String { "\(number)" }
    static func == (a: Write, b: Write) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  /// A thread that makes one write after the other.
  private struct Writer: Hashable {
    enum State: Hashable {
      case sequencing(last: Int?)
      case completing, syncing([Int])
      /// With a limit it may also wake by itself.
      case asleep(hasLimit: Bool)
      case idle
    }
    var state = State.idle
    /// The number of writes that it has begun.
    var count = 0
    /// The writes whose threads it has yet to wake, before it does anything else.
    var wakes: [Wake] = []
    /// The number of times that it was woken and has not noticed.
    var newsCount = 0
    /// Whether it is among the news that its write is complete.
    var isComplete = false
  }

  private struct Wake: Hashable {
    var write: Int
    var isComplete: Bool
  }

  /// All that there is at a moment.
  private struct World: Hashable {
    var queue: JointQueue<Write>
    var writers: [Writer]
    /// The numbers of writes, in the order in which they joined, were sequenced, were completed.
    var joined: [Int] = []
    var sequenced: [Int] = []
    var completed: [Int] = []

    var isOver: Bool { writers.allSatisfy { $0.state == .idle && $0.count == writeCount } }
  }

  private static let writeCount = 2
  private static let now = ContinuousClock.now
  private static let later = now + .seconds(1)

  private let writes: [Int: Write] = Dictionary(
    uniqueKeysWithValues: (0..<100).map { ($0, Write($0)) })

  private func write(_ number: Int) throws -> Write { try #require(writes[number]) }

  /// The number of the write that a writer has begun last.
  private func number(_ index: Int, in world: World) -> Int {
    world.writers[index].count * 10 + index
  }

  /// Lets a writer do its next step, if it can do one.
  /// - Parameter timesOut: whether it wakes by itself.
  private func step(_ index: Int, timesOut: Bool, in world: inout World) throws -> Bool {
    var writer = world.writers[index]
    defer { world.writers[index] = writer }
    func part(_ part: JointPart) {
      switch part {
      case .sequences: writer.state = .sequencing(last: nil)
      case .completes: writer.state = .completing
      case .gathers: writer.state = .asleep(hasLimit: true)
      case .waits: writer.state = .asleep(hasLimit: false)
      case .isDone: Issue.record("only a thread itself knows that its write is complete")
      }
    }
    func wake(_ wake: Wake) {
      let other = wake.write % 10
      #expect(other != index)
      // The thread may have noticed already. Its next write has news of its own.
      guard number(other, in: world) == wake.write else { return }
      world.writers[other].newsCount += 1
      if wake.isComplete { world.writers[other].isComplete = true }
    }
    if timesOut {
      guard writer.state == .asleep(hasLimit: true) else { return false }
      if writer.isComplete {
        writer.state = .idle
      } else {
        let own = try write(number(index, in: world))
        part(world.queue.part(of: own, at: Self.later))
      }
      return true
    }
    if let first = writer.wakes.first {
      writer.wakes.removeFirst()
      wake(first)
      return true
    }
    switch writer.state {
    case .idle:
      if writer.count == Self.writeCount { return false }
      writer = Writer(count: writer.count + 1)
      let number = writer.count * 10 + index
      world.joined.append(number)
      part(world.queue.join(try write(number)))
    case .sequencing(let last):
      switch world.queue.nextStep(after: try last.map(write), at: Self.now) {
      case .sequence(let next):
        world.sequenced.append(next.number)
        writer.state = .sequencing(last: next.number)
      case .end(let next, let successor):
        if let successor { writer.wakes = [Wake(write: successor.number, isComplete: false)] }
        part(next)
      }
    case .completing:
      let batch = world.queue.takeBatch().map(\.number)
      #expect(!batch.isEmpty)
      writer.state = .syncing(batch)
    case .syncing(let batch):
      world.completed += batch
      let (sequencer, successor) = world.queue.batchEnded(
        try batch.map(write), took: .milliseconds(1), at: Self.now)
      if let successor { writer.wakes = [Wake(write: successor.number, isComplete: false)] }
      let others = batch.filter { $0 % 10 != index && $0 != sequencer?.number }
      for number in [sequencer?.number].compactMap({ $0 }) + others {
        writer.wakes.append(Wake(write: number, isComplete: true))
      }
      try #require(world.completed.contains(number(index, in: world)))
      writer.state = .idle
    case .asleep:
      if writer.newsCount == 0 { return false }
      writer.newsCount -= 1
      if writer.isComplete {
        writer.state = .idle
      } else {
        part(world.queue.part(of: try write(number(index, in: world)), at: Self.now))
      }
    }
    return true
  }

  @Test(
    "Whatever the order, each write is sequenced and completed once, and each thread wakes",
    arguments: [false, true])
  func allOrders(isReplicated: Bool) throws {
    let start = World(
      queue: JointQueue(isReplicated: isReplicated),
      writers: Array(repeating: Writer(), count: 3))
    var seen: Set = [start]
    var open = [start]
    var endCount = 0
    while let world = open.popLast() {
      var canGoOn = false
      for index in world.writers.indices {
        for timesOut in [false, true] {
          var next = world
          guard try step(index, timesOut: timesOut, in: &next) else { continue }
          canGoOn = true
          try check(next)
          if seen.insert(next).inserted { open.append(next) }
        }
      }
      if canGoOn { continue }
      endCount += 1
      try #require(world.isOver, "a thread sleeps for ever: \(world)")
      #expect(world.completed.sorted() == world.joined.sorted())
    }
    #expect(endCount > 0)
  }

  private func check(_ world: World) throws {
    let states = world.writers.map(\.state)
    let sequencing = states.count { if case .sequencing = $0 { true } else { false } }
    let completing = states.count {
      switch $0 {
      case .completing, .syncing: true
      default: false
      }
    }
    try #require(sequencing <= 1 && completing <= 1, "two threads do the same: \(world)")
    try #require(world.sequenced == Array(world.joined.prefix(world.sequenced.count)))
    try #require(world.completed == Array(world.sequenced.prefix(world.completed.count)))
  }
}
