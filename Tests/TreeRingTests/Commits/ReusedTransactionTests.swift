// A write uses the transaction of the write before it again. Nothing of that may be left in it.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("A transaction that serves several writes", .leavesSoundStores)
struct ReusedTransactionTests {
  private struct Failed: Error {}

  /// A part of a write, and whether the write is then given up.
  private struct Step {
    var kind: Int
    var throwsAtEnd: Bool
    static let kindCount = 14

    func run(_ tx: Transaction) throws {
      switch kind {
      case 0: tx.note = "a note"
      case 1: tx.annotation = Array(#"{"by":1}"#.utf8)
      case 2: tx.tags = ["t\(tx.commit)"]
      case 3: tx.idempotencyKey = [UInt8(tx.commit & 255)]
      case 4: tx.timestampAllowance = [.ahead, .clamping]
      case 5: tx.keepsEmptyCommit = true
      case 6: (tx.takesDateOfNewest, tx.isSweep) = (true, true)
      case 7: try tx.put(Bytes(repeating: 7, count: 5_000), for: "large", in: blobs)
      case 8: _ = try tx.get("small", in: blobs)
      case 9: try tx.delete("small", in: blobs)
      case 10:
        // A rule, and rows that it concerns.
        if tx.editor.catalog.indexes["only"] == nil {
          try tx.define("only", UniqueTests.byEmail())
        }
        try tx.put(
          Array(#"{"email":"\#(tx.commit)"}"#.utf8), for: "m", in: UniqueTests.members)
      case 11:
        // Rows that concern a rule, and then the end of the rule.
        try UniqueTests.put(tx, "one", "same")
        try UniqueTests.put(tx, "other", "same")
        try tx.delete("m", in: UniqueTests.members)
        if tx.editor.catalog.indexes["only"] != nil { try tx.removeIndex("only") }
        try tx.delete("other", in: UniqueTests.members)
      case 12: if tx.editor.catalog.indexes["only"] != nil { try tx.removeIndex("only") }
      default:
        let long = Key(bytes: Bytes(repeating: 1, count: 5_000))
        #expect(code { try tx.put([1], for: long, in: blobs) } == .tooLarge)
      }
      try tx.put([UInt8(kind)], for: "small", in: blobs)
      if throwsAtEnd { throw Failed() }
    }
  }

  /// The stored properties of an object, and those of the editors that it refers to, as text.
  /// Left out are objects that are the store's own or memory alone, and what a later write may use:
  /// the bucket of the last one and the count of edits.
  private func properties(of object: Any) -> [String] {
    let other: Set = [
      "pages", "table", "memory", "path", "state", "spill", "owner", "lastBucket", "knownBucket",
      "editCount", "catalog", "active", "roots", "log",
    ]
    return Mirror(reflecting: object).children.flatMap { child -> [String] in
      guard let label = child.label, !other.contains(label) else { return [] }
      if ["editor", "values"].contains(label) { return properties(of: child.value) }
      var text = ""
      dump(child.value, to: &text, maxDepth: 4)
      return ["\(label): \(text.replacing(/#\d+/, with: ""))"]
    }
  }

  @Test("begins each write as a new one would", arguments: seeds(1...20))
  func nothingIsLeft(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (store, twin) = (try Store.inMemory(), try Store.inMemory())
    var kept: [Transaction] = []
    var objects: Set<ObjectIdentifier> = []
    for _ in 0..<40 {
      let step = Step(
        kind: .random(in: 0..<Step.kindCount, using: &random),
        throwsAtEnd: .random(in: 0..<4, using: &random) == 0)
      var begun: [[String]] = []
      for (target, keeps) in [(store, false), (twin, true)] {
        do {
          try target.write { tx in
            begun.append(properties(of: tx))
            if keeps { kept.append(tx) } else { objects.insert(ObjectIdentifier(tx)) }
            try step.run(tx)
          }
        } catch is Failed {}
      }
      #expect(begun[0].difference(from: begun[1]).isEmpty, "before \(step)")
    }
    // The twin's are new each time, because the first ones are kept.
    #expect(Set(kept.map(ObjectIdentifier.init)).count == 40)
    #expect(objects.count == 1)
    let commits = { (store: Store) in
      try (1...store.newestCommit).map { number in
        let commit = try store.commit(number)
        return "\(commit.note ?? "-") \(commit.tags) \(commit.operationCount)"
      }
    }
    #expect(try commits(store) == commits(twin))
  }

  @Test("keeps no payload of a write that was given up")
  func largePayload() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    weak var kept: Transaction?
    #expect(throws: Failed.self) {
      try store.write { tx in
        kept = tx
        for number in 0..<2_000 {
          try tx.put(Bytes(repeating: 7, count: 900), for: Key("\(number)"), in: blobs)
        }
        throw Failed()
      }
    }
    #expect(kept?.payload.bytes.capacity == 0)
    #expect(kept?.payload.takeBlocks() == nil)
  }

  @Test("is not kept with closures, whose objects may use the store when they are released")
  func closures() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    try store.register(byGroup())
    weak var kept: Transaction?
    try store.write { tx in kept = tx }
    #expect(kept == nil)
  }

  @Test("is released with the pages that an erasing replaces")
  func erasing() throws {
    let disk = Disk()
    let store = try disk.open()
    try store.put([1], for: "a")
    try store.put([2], for: "b")
    weak let pages = store.pages
    #expect(pages != nil)
    _ = try store.erase("a", in: blobs)
    // Threads of the old engine may use them for a while.
    for _ in 0..<3_000 where pages != nil { Platform.sleep(.milliseconds(10)) }
    #expect(pages == nil)
    try store.put([3], for: "b")
    #expect(try store.snapshot().get("b", in: blobs) == [3])
  }
}
