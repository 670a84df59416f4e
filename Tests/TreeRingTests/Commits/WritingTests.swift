// Writes: numbers, emptiness, failure, preconditions, and data of a commit besides its rows.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Writing commits", .leavesSoundStores)
struct WritingTests {
  @Test("Writes return dense numbers from 1 on, and the closure's value")
  func numbers() throws {
    let store = try Store.inMemory()
    #expect(store.newestCommit == 0)
    for number in UInt64(1)...5 {
      let written = try store.write { tx in
        #expect(tx.commit == number)
        try tx.put([1], for: "a", in: blobs)
        return "value \(number)"
      }
      #expect(written.commit == number)
      #expect(written.value == "value \(number)")
      #expect(store.newestCommit == number)
    }
  }

  @Test("Asynchronous writes return number and value, keep their order, and may fail alone")
  func asynchronous() async throws {
    let store = try Store.inMemory()
    let written = try await store.write { try $0.delete("a", in: "blobs") }
    #expect(written.commit == 0)
    #expect(!written.value)
    for number in UInt64(1)...5 {
      #expect(try await store.write { try $0.put([1], for: "a", in: blobs) }.commit == number)
      #expect(store.newestCommit == number)
      let failed = await error { try await store.write { try $0.touch("b", in: "blobs") } }
      #expect(failed?.code == .notFound)
    }
    #expect(await error { try await store.write(expecting: 7) { _ in } }?.current == 5)
  }

  @Test("A write without operations, note or tags makes no commit")
  func empty() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    #expect(try store.write { _ in }.commit == 1)
    #expect(try store.write { try $0.delete("b", in: "blobs") }.commit == 1)
    #expect(try store.write { try $0.delete("b", in: "nowhere") }.commit == 1)
    #expect(try store.write { try $0.deleteAll(in: "blobs", from: "x") }.commit == 1)
    #expect(try store.write { $0.timestamp = Timestamp.now }.commit == 1)
    #expect(store.newestCommit == 1)
    #expect(try store.write { $0.note = "remark" }.commit == 2)
    #expect(try store.write { $0.tags = ["t"] }.commit == 3)
    #expect(try store.write { $0.annotation = Array("{}".utf8) }.commit == 4)
    #expect(try store.snapshot().buckets().map(\.name) == ["blobs"])
  }

  @Test("If the closure throws, nothing has changed, and its pages are freed")
  func closureThrows() throws {
    struct Refusal: Error {}
    let store = try Store.tiny(indexes: [byGroup()])
    for number in 0..<50 { try store.put(Note(group: "g", number: number), for: Key("\(number)")) }
    let before = try store.snapshot()
    let pages = try store.statistics().pageCount
    #expect(throws: Refusal.self) {
      try store.write { tx in
        for number in 0..<50 {
          try tx.put(Note(group: "h", number: number), for: Key("\(number)"), in: notes)
        }
        try tx.put([UInt8](repeating: 1, count: 100_000), for: "x", in: blobs)
        try tx.tag("t", commit: 1)
        try tx.removeIndex("byGroup")
        try tx.define("fields", FieldIndex(bucket: "notes", group: "group", order: []))
        throw Refusal()
      }
    }
    #expect(store.newestCommit == before.commit)
    #expect(try store.statistics().pageCount == pages)
    let after = try store.snapshot()
    #expect(try after.diff(from: before) == [])
    #expect(try after.index("byGroup").count(in: "g") == 50)
    #expect(try after.tags() == [])
    #expect(try after.buckets().map(\.name) == ["notes"])
    #expect(try store.checkInvariants() == [])
    #expect(try store.put([1], for: "a") == before.commit + 1)
  }

  @Test("A transaction reads its own writes; no other reader does before the commit")
  func ownWrites() throws {
    let store = try Store.inMemory(options: StoreOptions(indexes: [byGroup()]))
    try store.put(Note(group: "g", number: 2), for: "b")
    try store.write { tx in
      try tx.put(Note(group: "g", number: 1), for: "a", in: notes)
      #expect(try tx.get("a", in: notes)?.number == 1)
      #expect(try tx.count(in: "notes") == 2)
      #expect(try tx.index("byGroup").keys("g") == ["a", "b"])
      #expect(try tx.written("a", in: "notes") == tx.commit)
      try tx.delete("b", in: "notes")
      #expect(try tx.index("byGroup").keys("g") == ["a"])
      #expect(try tx.contains("b", in: "notes") == false)
      let outside = try store.snapshot()
      #expect(try outside.contains("a", in: "notes") == false)
      #expect(try outside.index("byGroup").keys("g") == ["b"])
    }
    #expect(try store.snapshot().index("byGroup").keys("g") == ["a"])
  }

  // MARK: - Preconditions

  @Test("require lets a commit pass only if the row was last written as stated")
  func require() throws {
    let store = try Store.inMemory()
    let first = try store.put([1], for: "a")
    try store.write {
      try $0.require("a", in: "blobs", lastWrittenAt: first)
      try $0.require("b", in: "blobs", lastWrittenAt: 0)
      try $0.require("b", in: "no bucket", lastWrittenAt: 0)
      try $0.put([2], for: "a", in: blobs)
    }
    let refusal = error {
      try store.write {
        try $0.put([9], for: "b", in: blobs)
        try $0.require("a", in: "blobs", lastWrittenAt: first)
      }
    }
    #expect(refusal?.code == .conflict)
    #expect(refusal?.current == 2)
    let absent = error { try store.write { try $0.require("b", in: "blobs", lastWrittenAt: 1) } }
    #expect(absent?.code == .conflict)
    #expect(absent?.current == 0)
    #expect(store.newestCommit == 2)
    #expect(try store.snapshot().contains("b", in: "blobs") == false)
  }

  @Test("expecting lets a write pass only on the newest commit; a refusal reports that commit")
  func expecting() throws {
    let store = try Store.inMemory()
    #expect(try store.write(expecting: 0) { try $0.put([1], for: "a", in: blobs) }.commit == 1)
    var ran = false
    let refusal = error { try store.write(expecting: 0) { _ in ran = true } }
    #expect(refusal?.code == .conflict)
    #expect(refusal?.current == 1)
    #expect(!ran)
  }

  @Test("Writing again under an idempotency key writes nothing and returns the first commit")
  func idempotency() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    func transfer() throws -> CommitNumber {
      try store.write { tx in
        tx.idempotencyKey = Array("order 17".utf8)
        let old = try tx.get("n", in: blobs) ?? [0]
        try tx.put([old[0] + 1], for: "n", in: blobs)
      }.commit
    }
    #expect(try transfer() == 1)
    try store.put([1], for: "a")
    #expect(try transfer() == 1)
    try store.close()
    store = try files.open(indexes: [])
    #expect(try transfer() == 1)
    #expect(store.newestCommit == 2)
    #expect(try store.snapshot().get("n", in: blobs) == [1])
    let long = error {
      try store.write {
        $0.idempotencyKey = [UInt8](repeating: 1, count: 256)
        try $0.put([1], for: "x", in: blobs)
      }
    }
    #expect(long?.code == .tooLarge)
  }

  // MARK: - Data of commits

  @Test("Note, annotation and tags are read with the commit, even after reopening")
  func carried() throws {
    let files = MemoryFiles()
    var store = try files.open(indexes: [])
    let number = try store.write {
      $0.note = "first import"
      $0.annotation = Array(#"{"by":"me"}"#.utf8)
      $0.tags = ["start", "v1"]
      try $0.put([1], for: "a", in: blobs)
      try $0.put([2], for: "b", in: blobs)
    }.commit
    for isReopened in [false, true] {
      if isReopened {
        try store.close()
        store = try files.open(indexes: [])
      }
      let info = try store.commit(number)
      #expect(info.note == "first import")
      #expect(info.annotation == Array(#"{"by":"me"}"#.utf8))
      #expect(info.tags == ["start", "v1"])
      #expect(info.operationCount == 2)
      #expect(info.byteCount > 0)
      #expect(try store.snapshot().tagTexts() == ["start 1", "v1 1"])
    }
  }

  @Test("A tag names an earlier commit or moves to one; the commit must exist")
  func tags() throws {
    let store = try Store.inMemory()
    try store.put([1], for: "a")
    try store.put([2], for: "a")
    try store.write { try $0.tag("t", commit: 2) }
    let old = try store.snapshot()
    try store.write { try $0.tag("t", commit: 1) }
    #expect(try store.snapshot().tagTexts() == ["t 1"])
    #expect(try old.tagTexts() == ["t 2"])
    #expect(try store.snapshot(at: .tag("t")).get("a", in: blobs) == [1])
    #expect(code { try store.write { try $0.tag("u", commit: 99) } } == .notFound)
    #expect(code { try store.write { try $0.tag("u", commit: 0) } } == .notFound)
    #expect(code { try store.write { try $0.tag("", commit: 1) } } == .invalidInput)
    let long = String(repeating: "x", count: 256)
    #expect(code { try store.write { try $0.tag(long, commit: 1) } } == .tooLarge)
    #expect(code { try store.write { $0.tags = [long] } } == .tooLarge)
    #expect(store.newestCommit == 4)
  }
}
