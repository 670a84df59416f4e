// The peak of anonymous memory while a store writes and reads far more than its budget. Mapped
// pages of files belong to the kernel and do not count.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation
internal import Synchronization
internal import TreeRing

let memory = Subject(name: "Memory") { context in
  guard MemoryWatch.anonymousByteCount != nil else { return }
  let budget = context.pick(small: 8 << 20, full: 64 << 20)
  let count = context.pick(small: 200_000, full: 5_000_000)
  let updates = context.pick(small: 20, full: 500)
  let name = "budget \(budget >> 20) MiB, \(count) rows"
  let writing = Measurement(
    "Memory", "anonymous memory while loading, peak (\(name))", unit: "MB", .lower)
  let reading = Measurement(
    "Memory", "anonymous memory while scanning, peak (\(name))", unit: "MB", .lower)
  let folder = try context.folder()
  let rows = PlainRows()
  let options = StoreOptions(durability: .unsynced, memoryBudget: budget)
  var random = Random(seed: 19)
  let loaded = try MemoryWatch.peak {
    let store = try Store(at: folder, options: options)
    try rows.load(0..<count, into: store)
    for version in 1...updates {
      try rows.update(1_000, below: count, version: version, &random, in: store)
    }
    try store.close()
  }
  writing.add(TreeRingEngine.name, Double(loaded) / 1e6)
  var digest: UInt64 = 0
  let scanned = try MemoryWatch.peak {
    let store = try Store(at: folder, options: options)
    var scan = Scan()
    try store.snapshot().forEach(in: PlainRows.bucket) { key, value in
      value.withUnsafeBytes { value in
        key.bytes.withUnsafeBytes { scan.add(key: $0, value: value) }
      }
      return true
    }
    digest = scan.digest &+ UInt64(scan.count)
    try store.close()
  }
  reading.add(TreeRingEngine.name, Double(scanned) / 1e6)
  try writing.check(digest, of: TreeRingEngine.name)
  try context.remove(folder)
  try context.report.add(writing, bar: .absolute(1.5 * Double(budget) / 1e6))
  try context.report.add(reading, bar: .absolute(1.5 * Double(budget) / 1e6))
}

/// Samples this process's memory periodically.
enum MemoryWatch {
  /// The anonymous memory in use, in bytes; nil if the system does not report it.
  static var anonymousByteCount: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
      return nil
    }
    for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
      return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }
    return nil
  }

  /// The peak of memory during `body` above the level before, in bytes.
  static func peak(_ body: () throws -> Void) throws -> Int {
    let before = anonymousByteCount ?? 0
    let watch = Watch()
    Thread.detachNewThread {
      while !watch.isDone.load(ordering: .acquiring) {
        watch.highest.max(anonymousByteCount ?? 0, ordering: .relaxed)
        Thread.sleep(forTimeInterval: 0.002)
      }
      watch.ended.signal()
    }
    defer {
      watch.isDone.store(true, ordering: .releasing)
      watch.ended.wait()
    }
    try body()
    return max(0, watch.highest.load(ordering: .relaxed) - before)
  }

  /// The shared state of the sampling thread and its creator.
  private final class Watch: Sendable {
    let highest = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    let ended = DispatchSemaphore(value: 0)
  }
}
