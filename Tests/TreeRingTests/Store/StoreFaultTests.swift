// A full device and failing syncs in the view of the store, and invalid payloads.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Faults of the device")
struct StoreFaultTests {
  private func used(_ disk: Disk) -> Int { disk.contents.values.reduce(0) { $0 + $1.count } }

  @Test(
    "A full device fails only the commits that do not fit; all others are as written",
    arguments: seeds(1...6))
  func fullDevice(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let disk = Disk(seed: seed)
    var store = try disk.open(segmentSize: 8 << 10, indexes: [byGroup()])
    var model: [Key: Note] = [:]
    var states: [UInt64: [Key: Note]] = [:]
    var failures = 0
    for step in 0..<150 {
      if step % 3 == 0 {
        disk.files.setCapacity(used(disk) + Int.random(in: 0..<6000, using: &random))
      }
      let key = Key("k\(Int.random(in: 0..<30, using: &random))")
      let text = String(
        (0..<Int.random(in: 0..<5000, using: &random)).map { _ in
          "abcdefghijklmnop".randomElement(using: &random) ?? "a"
        })
      let note = Note(group: "g\(step % 4)", number: step, text: text)
      var next = model
      next[key] = note
      let before = store.newestCommit
      do {
        let commit = try store.put(note, for: key)
        #expect(commit == before + 1, "seed \(seed), step \(step)")
        model = next
        states[commit] = model
      } catch let error as TreeRingError {
        #expect(error.code == .noSpace, "seed \(seed), step \(step): \(error)")
        #expect(store.newestCommit == before, "seed \(seed), step \(step)")
        failures += 1
        if failures % 3 == 0 { disk.files.setCapacity(nil) }
      }
      #expect(try rows(store.snapshot()) == model, "seed \(seed), step \(step)")
    }
    #expect(failures > 0)
    disk.files.setCapacity(nil)
    try store.put(Note(group: "end", number: 0), for: "end")
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    #expect(try store.leakedPageCount(beside: []) == 0, "seed \(seed)")
    try store.close()
    store = try disk.open(segmentSize: 8 << 10, indexes: [byGroup()])
    for (commit, state) in states {
      #expect(try rows(store.snapshot(at: .commit(commit))) == state, "seed \(seed), at \(commit)")
    }
    #expect(try store.snapshot().index("byGroup").count == model.count + 1)
  }

  private func rows(_ snapshot: Snapshot) throws -> [Key: Note] {
    var rows: [Key: Note] = [:]
    try snapshot.forEach(in: notes) {
      rows[$0] = $1
      return true
    }
    return rows
  }

  @Test("Several pending commits are undone together, and their numbers are reused")
  func undoneTogether() throws {
    let disk = Disk()
    let store = try disk.open(durability: .unsynced)
    let fields = try FieldIndex(bucket: "notes", group: "group", order: [])
    let other = try FieldIndex(bucket: "notes", group: "text", order: [])
    try store.put(Note(group: "g", number: 1, text: "t"), for: "a")
    disk.files.setCapacity(used(disk))
    let first = try store.sequence(durability: .full, expecting: nil) { try $0.define("x", fields) }
    let second = try store.sequence(durability: .full, expecting: nil) {
      try $0.put(Note(group: "g", number: 2, text: "t"), for: "b", in: notes)
    }
    #expect(store.newestCommit == 1)
    for ticket in [second.ticket, first.ticket] {
      #expect(code { try store.complete(ticket) } == .noSpace)
    }
    disk.files.setCapacity(nil)
    #expect(store.indexes == [])
    #expect(try store.define("y", other) == 2)
    #expect(try store.put(Note(group: "h", number: 3, text: "u"), for: "c") == 3)
    #expect(try store.snapshot().index("y").groups() == ["t", "u"])
    #expect(code { try store.snapshot().index("x") } == .notFound)
    #expect(try store.snapshot().contains("b", in: "notes") == false)
    #expect(try store.checkInvariants() == [])
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("An index whose registration failed on a full device can be registered again")
  func registerAfterFull() throws {
    let disk = Disk()
    let store = try disk.open(durability: .unsynced)
    try store.put(Note(group: "g", number: 1), for: "a")
    disk.files.setCapacity(used(disk))
    #expect(code { try store.register(byGroup()) } == .noSpace)
    #expect(code { try store.register(byGroup()) } == .noSpace)
    disk.files.setCapacity(nil)
    #expect(try store.register(byGroup()) == 2)
    #expect(try store.snapshot().index("byGroup").count == 1)
  }

  @Test("A commit built on one that a full device undoes fails with noSpace too")
  func builtOnUndone() throws {
    let disk = Disk()
    let store = try disk.open(durability: .unsynced)
    try store.put([1], for: "a")
    disk.files.setCapacity(used(disk))
    let first = try store.sequence(durability: .full, expecting: nil) {
      try $0.put([2], for: "a", in: blobs)
    }
    let ticket = first.ticket
    let second = error {
      try store.write { tx in
        #expect(code { try store.complete(ticket) } == .noSpace)
        try tx.put([3], for: "a", in: blobs)
      }
    }
    #expect(second?.code == .noSpace)
    disk.files.setCapacity(nil)
    #expect(try store.put([4], for: "a") == 2)
    #expect(try store.snapshot().get("a", in: blobs) == [4])
    #expect(try store.leakedPageCount(beside: []) == 0)
  }

  @Test("A write that repeats or follows a pending commit waits for it, and fails with it")
  func waitsForOthers() throws {
    let disk = Disk()
    let store = try disk.open(durability: .unsynced)
    try store.put([1], for: "z")
    func pay(_ tx: Transaction) throws {
      tx.idempotencyKey = [7]
      try tx.put([1], for: "a", in: blobs)
    }
    disk.files.setCapacity(used(disk))
    let first = try store.sequence(durability: .full, expecting: nil, pay)
    let again = try store.sequence(durability: .full, expecting: nil, pay)
    var isThere = false
    let empty = try store.sequence(durability: .full, expecting: nil) {
      isThere = try $0.contains("a", in: "blobs")
    }
    #expect(again.commit == first.commit)
    #expect(isThere)
    for ticket in [again.ticket, first.ticket, empty.ticket] {
      #expect(code { try store.complete(ticket) } == .noSpace)
    }
    disk.files.setCapacity(nil)
    #expect(try store.write(pay).commit == 2)
    #expect(try store.write(pay).commit == 2)
    #expect(try store.write { try $0.contains("a", in: "blobs") }.value)
  }

  @Test(
    "A failed sync poisons the store, reads continue, and reopening shows the commit's fate",
    arguments: seeds(1...8))
  func failingSync(seed: UInt64) throws {
    let disk = Disk(seed: seed)
    let store = try disk.open()
    try store.put([1], for: "a")
    // Every call fails until the sync has failed.
    disk.files.failAll(after: 2, with: .inputOutput)
    let failed = error {
      try store.write { tx in
        tx.idempotencyKey = [7]
        try tx.put([2], for: "a", in: blobs)
      }
    }
    disk.files.failAll(after: nil, with: .inputOutput)
    #expect(failed?.code == .unknown)
    #expect(code { try store.put([3], for: "a") } == .poisoned)
    #expect(
      code {
        try store.write { tx in
          tx.idempotencyKey = [7]
          try tx.put([2], for: "a", in: blobs)
        }
      } == .unknown)
    #expect(store.newestCommit == 1)
    #expect(try store.snapshot().get("a", in: blobs) == [1])
    #expect(try store.history(of: "a", in: "blobs").map(\.commit) == [1])
    #expect(code { try store.close() } != nil)
    let reopened = try Disk(disk.files.afterCrash(seed: seed)).open()
    let value = try reopened.snapshot().get("a", in: blobs)
    #expect(value == [UInt8(reopened.newestCommit)])
    #expect([1, 2].contains(reopened.newestCommit))
    let settled = try reopened.write { tx in
      tx.idempotencyKey = [7]
      try tx.put([2], for: "a", in: blobs)
    }
    #expect(settled.commit == 2)
    #expect(try reopened.snapshot().get("a", in: blobs) == [2])
  }

  // MARK: - Payloads

  @Test("A payload with any byte changed, added or missing opens or throws, and never traps")
  func spoiltPayloads() throws {
    let sound = try Self.payload()
    try open(sound.payload, operations: sound.count, mustOpen: true)
    var random = SeededGenerator(seed: 1)
    for place in sound.payload.indices {
      for value in [
        0, 1, 0x7F, 0xFF, sound.payload[place] ^ UInt8.random(in: 1...255, using: &random),
      ] {
        var spoilt = sound.payload
        spoilt[place] = value
        try open(spoilt, operations: sound.count)
      }
      try open(Array(sound.payload[..<place]), operations: sound.count)
    }
  }

  @Test("Values and names too long for a page are corruption, not a trap")
  func oversized() throws {
    let long = [UInt8](repeating: 0x61, count: 5000)
    let name = String(repeating: "n", count: 3000)
    func payload(_ body: (inout PayloadWriter) throws -> Void) rethrows -> [UInt8] {
      var writer = PayloadWriter(commit: 1)
      try body(&writer)
      return writer.payload(notes: CommitNotes())
    }
    func address(_ bucket: String, _ key: UnsafeRawBufferPointer) -> RowAddress {
      RowAddress(bucket: BucketReference(number: 1, name: bucket), key: key, previous: 0)
    }
    let spoilt = long.withUnsafeBytes { bytes in
      let short = UnsafeRawBufferPointer(rebasing: bytes[..<3])
      let inline = NewValue(bytes, isLogged: false)
      let small = NewValue(short, isLogged: false)
      return [
        payload {
          $0.append(.put(coder: 0, object: inline, metadata: nil), of: address("b", short))
        },
        payload {
          $0.append(.put(coder: 0, object: small, metadata: inline), of: address("b", short))
        },
        payload {
          $0.append(.put(coder: 0, object: small, metadata: nil), of: address("b", bytes))
        },
        payload {
          $0.append(.put(coder: 0, object: small, metadata: nil), of: address(name, short))
        },
        payload { $0.append(.put(coder: 0, object: small, metadata: nil), of: address("", short)) },
        payload { $0.append(.tag(name: name, commit: 1)) },
        payload {
          $0.append(
            .index(IndexRecord(name: name, number: 1, version: 1, definition: .code(buckets: []))))
        },
        payload {
          $0.append(
            .index(
              IndexRecord(name: "i", number: 1, version: 1, definition: .code(buckets: [name]))))
        },
        payload {
          $0.beginDeleteRange(BucketReference(number: 1, name: "b"), rowCount: 1)
          $0.deleteRange(bytes, previous: 0)
        },
      ]
    }
    for (index, payload) in spoilt.enumerated() {
      let failure = error { try open(payload, operations: 1) }
      #expect(failure == nil, "payload \(index)")
    }
  }

  private static func payload() throws -> (payload: [UInt8], count: UInt32) {
    var writer = PayloadWriter(commit: 1)
    let bucket = BucketReference(number: 1, name: "notes")
    let object = Array(#"{"group":"g","number":1,"text":"t"}"#.utf8)
    object.withUnsafeBytes { object in
      let value = NewValue(object, isLogged: false)
      for key in ["a", "b", "c"] {
        Array(key.utf8).withUnsafeBytes { key in
          let row = RowAddress(bucket: bucket, key: key, previous: 0)
          writer.append(.put(coder: 1, object: value, metadata: value), of: row)
          let again = RowAddress(bucket: bucket, key: key, previous: 1)
          writer.append(.object(coder: 0, value), of: again)
          writer.append(.metadata(value), of: again)
          writer.append(.touch, of: again)
        }
      }
      Array("a".utf8).withUnsafeBytes { key in
        writer.append(.delete, of: RowAddress(bucket: bucket, key: key, previous: 1))
      }
    }
    writer.beginDeleteRange(bucket, rowCount: 1)
    Array("b".utf8).withUnsafeBytes { writer.deleteRange($0, previous: 1) }
    writer.append(.tag(name: "t", commit: 1))
    let fields = try FieldIndex(bucket: "notes", group: "group", order: [.init("number")])
    writer.append(
      .index(IndexRecord(name: "f", number: 1, version: 1, definition: .fields(fields.json))))
    writer.append(
      .index(
        IndexRecord(name: "byGroup", number: 2, version: 1, definition: .code(buckets: ["notes"]))))
    var notes = CommitNotes()
    notes.note = "n"
    notes.annotation = [1]
    notes.idempotencyKey = [2]
    notes.tags = ["u"]
    return (writer.payload(notes: notes), writer.count)
  }

  @Test("Two indexes of one number are corruption, because they would share their trees")
  func sharedNumber() throws {
    var writer = PayloadWriter(commit: 1)
    for (name, field) in [("one", "group"), ("other", "text")] {
      let fields = try FieldIndex(bucket: "notes", group: field, order: [.init("number")])
      writer.append(
        .index(IndexRecord(name: name, number: 1, version: 1, definition: .fields(fields.json))))
    }
    let payload = writer.payload(notes: CommitNotes())
    #expect(try open(payload, operations: writer.count)?.code == .corruption)
  }

  /// Opens a store whose only commit has this payload, and reads all its contents.
  /// - Returns: the error of opening or reading.
  @discardableResult
  private func open(
    _ payload: [UInt8], operations: UInt32, mustOpen: Bool = false
  ) throws -> TreeRingError? {
    let files = MemoryFileSystem()
    try files.makeDirectory("store")
    let log = try CommitLog(directory: "store/log", fileSystem: files, options: LogOptions())
    let draft = CommitDraft(
      number: 1, timestamp: Timestamp(microseconds: 0), operationCount: operations,
      payload: payload, durability: .unsynced)
    try log.complete(log.append(draft))
    try log.close()
    do {
      let options = StoreOptions(indexes: [byGroup()], logger: quietLogger)
      let store = try Store(path: "store", fileSystem: files, options: options)
      defer { try? store.close() }
      let snapshot = try store.snapshot()
      for (bucket, _) in try snapshot.buckets() {
        try snapshot.forEachRow(in: bucket) { row in
          _ = try store.history(of: row.key, in: bucket)
          return true
        }
      }
      for index in snapshot.indexes {
        let reader = try snapshot.index(index.name)
        for group in try reader.groups() { _ = try reader.rows(in: group) }
      }
      for tag in try snapshot.tags() { _ = try store.snapshot(at: .tag(tag.name)) }
      _ = try snapshot.diff(from: store.snapshot(at: .commit(0)))
      _ = try store.operations(of: 1)
      return nil
    } catch let error as TreeRingError {
      #expect(!mustOpen, "\(error)")
      return error
    }
  }
}
