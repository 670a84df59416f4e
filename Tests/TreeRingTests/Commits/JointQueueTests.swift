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
    /// The completed write whose thread it is to wake after it has noticed that its own is.
    var next: Int?
    /// The number of times that it was woken and has not noticed.
    var newsCount = 0
    /// Whether it is among the news that its write is complete.
    var isComplete = false
  }

  private struct Fault: Error {
    var text: String
    init(_ text: String) { self.text = text }
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

    static func == (a: World, b: World) -> Bool { a.queue == b.queue && a.writers == b.writers }
    func hash(into hasher: inout Hasher) {
      hasher.combine(queue)
      hasher.combine(writers)
    }

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
  private func step(
    _ index: Int, timesOut: Bool, at time: ContinuousClock.Instant, in world: inout World
  ) throws -> Bool {
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
    /// Lets the writer notice its news, if there are any.
    func wakeUp() throws {
      guard writer.isComplete else {
        return part(world.queue.part(of: try write(number(index, in: world)), at: time))
      }
      writer.state = .idle
      if let next = writer.next { writer.wakes = [Wake(write: next, isComplete: true)] }
    }
    if timesOut {
      guard writer.state == .asleep(hasLimit: true) else { return false }
      try wakeUp()
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
      switch world.queue.nextStep(after: try last.map(write), at: time) {
      case .sequence(let next):
        world.sequenced.append(next.number)
        writer.state = .sequencing(last: next.number)
      case .end(let next, let sequencer, let completer):
        for write in [completer, sequencer] {
          if let write { writer.wakes.append(Wake(write: write.number, isComplete: false)) }
        }
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
      for (number, next) in zip(others, others.dropFirst()) {
        world.writers[number % 10].next = next
      }
      for number in others {
        guard case .asleep = world.writers[number % 10].state else {
          throw Fault("a thread that is to wake others does not sleep: \(world)")
        }
      }
      for number in [sequencer?.number, others.first] {
        if let number { writer.wakes.append(Wake(write: number, isComplete: true)) }
      }
      try #require(world.completed.contains(number(index, in: world)))
      writer.state = .idle
    case .asleep:
      if writer.newsCount == 0 { return false }
      writer.newsCount -= 1
      try wakeUp()
    }
    return true
  }

  @Test(
    "Whatever the order, each write is sequenced and completed once, and each thread wakes",
    arguments: [0, 16])
  func allOrders(mostWriters: Int) throws {
    let start = World(
      queue: JointQueue(Gathering(isReplicated: false, mostWriters: mostWriters)),
      writers: Array(repeating: Writer(), count: 3))
    var seen: Set = [start]
    var open = [start]
    var endCount = 0
    while let world = open.popLast() {
      var canGoOn = false
      for index in world.writers.indices {
        for (timesOut, time) in [(false, Self.now), (false, Self.later), (true, Self.later)] {
          var next = world
          guard try step(index, timesOut: timesOut, at: time, in: &next) else { continue }
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
    #expect(seen.count > 10_000, "the model has lost most of its orders")
  }

  /// A queue whose second write is being sequenced while the first one is completed, and whose
  /// third one waits.
  private func busyQueue() throws -> JointQueue<Write> {
    var queue = JointQueue<Write>(Gathering(isReplicated: false, mostWriters: 0))
    #expect(queue.join(try write(1)) == .sequences)
    _ = queue.nextStep(after: nil, at: Self.now)
    guard case .end(.completes, nil, nil) = queue.nextStep(after: try write(1), at: Self.now)
    else { throw Fault("the first thread does not complete") }
    #expect(queue.takeBatch().map(\.number) == [1])
    #expect(queue.join(try write(2)) == .sequences)
    _ = queue.nextStep(after: nil, at: Self.now)
    #expect(queue.join(try write(3)) == .waits)
    return queue
  }

  @Test("A thread that is to complete its own write leaves the queue to the next one")
  func completesSoon() throws {
    var queue = try busyQueue()
    _ = queue.nextStep(after: try write(2), at: Self.now)
    #expect(queue.join(try write(4)) == .waits)
    let ended = queue.batchEnded([try write(1)], took: .zero, at: Self.now)
    #expect(ended.successor?.number == 2, "the only sequenced write")
    let step = queue.nextStep(after: try write(3), at: Self.now)
    guard case .end(.completes, let sequencer, nil) = step else { throw Fault("\(step)") }
    #expect(sequencer?.number == 4)
    #expect(queue.takeBatch().map(\.number) == [2, 3])
  }

  @Test("A thread whose write is complete sequences and completes no more")
  func returnsSoon() throws {
    var queue = try busyQueue()
    _ = queue.nextStep(after: try write(2), at: Self.now)
    _ = queue.batchEnded([try write(1)], took: .zero, at: Self.now)
    #expect(queue.join(try write(4)) == .waits)
    // Another thread has taken the batch.
    #expect(queue.takeBatch().map(\.number) == [2])
    let ended = queue.batchEnded([try write(2)], took: .zero, at: Self.now)
    #expect(ended.sequencer?.number == 2)
    let step = queue.nextStep(after: try write(3), at: Self.now)
    guard case .end(.waits, let sequencer, let completer) = step else { throw Fault("\(step)") }
    #expect(sequencer?.number == 4 && completer?.number == 3)
    #expect(queue.part(of: try write(3), at: Self.now) == .completes)
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
