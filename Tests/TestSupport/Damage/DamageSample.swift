// Small sound stores of every shape, as objects of damage.

package import TreeRing
package import TreeRingLog

/// A sound store: its files and its content.
package struct DamageSample: Sendable {
  package let name: String
  /// The files by path in the store's folder.
  package let files: [String: [UInt8]]
  package let record: StoreRecord
  /// Whether the log was closed at the store's newest commit.
  package let isClosed: Bool
  /// The store's commits, for logs with forged payloads. Empty if some commits have logged values
  /// or are compacted.
  package let drafts: [CommitDraft]

  static let notes = Bucket<[UInt8]>.bytes("notes")
  static let lists = Bucket<[UInt8]>.bytes("lists")

  /// The index that is defined in code.
  package static var index: GroupIndex {
    GroupIndex("bySize", on: notes, version: 1) { bytes in
      Place(in: "g\(bytes.count % 3)", by: .ascending(bytes.count))
    }
  }

  package static func options(
    _ mode: StoreMode = .create, segmentSize: UInt64 = 1 << 20, hasCode: Bool = true
  ) -> StoreOptions {
    var options = StoreOptions(
      mode: mode, memoryBudget: 4 << 20, segmentSize: segmentSize, indexes: hasCode ? [index] : [],
      logger: quietLogger)
    options.pageCellCapacity = 6
    return options
  }

  /// One sample of each shape.
  package static func all() throws -> [DamageSample] {
    try [
      plain, values, roots, indexes, segments, compacted, erased, killed, recovered, bases,
      generations,
    ].map { try $0() }
  }

  private init(
    _ name: String, _ disk: MemoryFileSystem, _ record: StoreRecord, isClosed: Bool = true
  ) throws {
    self.name = name
    self.record = record
    self.isClosed = isClosed
    var files: [String: [UInt8]] = [:]
    for name in ["pages", "LOCK"] { files[name] = disk.contents(of: "store/\(name)") }
    for name in try disk.list("store/log") {
      files["log/\(name)"] = disk.contents(of: "store/log/\(name)")
    }
    self.files = files
    drafts = try Self.drafts(of: disk, record)
  }

  private static func drafts(
    of disk: MemoryFileSystem, _ record: StoreRecord
  ) throws -> [CommitDraft] {
    var options = LogOptions(access: .readOnly)
    options.logger = quietLogger
    let log = try CommitLog(directory: "store/log", fileSystem: disk, options: options)
    defer { try? log.close() }
    guard log.horizon == 0, record.newest > 0 else { return [] }
    var drafts: [CommitDraft] = []
    for number in 1...record.newest {
      guard try log.header(of: number).valueCount == 0 else { return [] }
      try log.readPayload(of: number) { header, payload in
        drafts.append(
          CommitDraft(
            number: number, timestamp: header.timestamp, operationCount: header.operationCount,
            payload: Array(payload)))
      }
    }
    return drafts
  }

  // MARK: What is written

  /// Creates a store, writes to it, and closes it.
  private static func make(
    _ name: String, options: StoreOptions = options(hasCode: false),
    _ write: (Store, inout StoreRecord) throws -> Void
  ) throws -> DamageSample {
    let disk = MemoryFileSystem()
    var record = StoreRecord()
    let store = try Store(path: "store", fileSystem: disk, options: options)
    try write(store, &record)
    try record.note(store)
    try store.close()
    return try DamageSample(name, disk, record)
  }

  /// An object of JSON with a group, a number and text.
  private static func object(_ number: Int, byteCount: Int = 40) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(number))
    let text = (0..<max(0, byteCount - 30)).map { _ in
      "abcdefghijklmnopqrstuvwxyz".randomElement(using: &random) ?? "a"
    }
    return Array(#"{"g":"g\#(number % 4)","n":\#(number),"t":"\#(String(text))"}"#.utf8)
  }

  /// A commit of several kinds of operations.
  private static func commit(_ number: Int, to store: Store, byteCount: Int = 40) throws {
    _ = try store.write { tx in
      let key = Key("k\(number % 9)")
      if number % 5 == 4, try tx.contains(key, in: notes.name) {
        try tx.delete(key, in: notes.name)
      } else {
        try tx.put(
          object(number, byteCount: byteCount),
          metadata: number % 3 == 0 ? [1, UInt8(number)] : nil,
          for: key, in: notes)
      }
      if number % 4 == 1 { try tx.put(object(number), for: Key("l\(number)"), in: lists) }
      if number % 6 == 2, number % 5 != 4 { try tx.touch(key, in: notes.name) }
      if number % 7 == 3 { tx.note = "commit \(number)" }
      if number % 7 == 5 { tx.idempotencyKey = [UInt8(number)] }
      if number % 8 == 7 { try tx.tag("t\(number % 3)", commit: tx.commit - 1) }
    }
  }

  private static func plain() throws -> DamageSample {
    try make("plain") { store, _ in for number in 1...14 { try commit(number, to: store) } }
  }

  private static func values() throws -> DamageSample {
    try make("values") { store, _ in
      for number in 1...10 {
        try commit(number, to: store, byteCount: number % 2 == 0 ? 1_500 : 200)
        try store.write {
          try $0.put(metadata: object(number, byteCount: 1_200), for: "k1", in: "notes")
        }
      }
    }
  }

  /// A store with many checkpoints, between which pages die, so that there are roots, lists and
  /// free pages.
  private static func roots() throws -> DamageSample {
    try make("roots") { store, _ in
      try store.write { tx in
        for number in 0..<60 { try tx.put(object(number), for: Key("r\(number)"), in: notes) }
      }
      for number in 1...24 {
        try commit(number, to: store)
        if number % 3 == 0 { try store.checkpoint() }
      }
      try store.write { _ = try $0.deleteAll(in: "notes", from: "r1", to: "r4") }
    }
  }

  private static func indexes() throws -> DamageSample {
    let options = options()
    let disk = MemoryFileSystem()
    var record = StoreRecord()
    let store = try Store(path: "store", fileSystem: disk, options: options)
    let fields = try FieldIndex(bucket: "notes", group: "g", order: [.init("n", descending: true)])
      .summing("n")
    try store.write { tx in
      try tx.define("byField", fields)
      try tx.define("shelves", ManualIndex(on: "notes", "lists"))
      try tx.define("categories", version: 1, .events(.categories, bucket: "events"))
      try tx.define("ids", version: 1, .events(.ids, bucket: "events"))
      for number in 0..<12 {
        try tx.put([UInt8(number)], for: "only", in: Bucket<[UInt8]>.bytes("bucket \(number)"))
      }
    }
    for number in 1...16 {
      try commit(number, to: store)
      if number % 4 == 1 {
        try store.write { tx in
          let shelf = try tx.group(GroupName("s\(number % 2)"), of: "shelves")
          try shelf.prepend(RowID(bucket: "lists", key: Key("l\(number)")))
          try tx.put(
            object(number), metadata: Array(#"{"id":"i\#(number)","type":"t"}"#.utf8),
            for: EventKey.of("s\(number % 2)-x", UInt64(number)),
            in: Bucket<[UInt8]>.bytes("events"))
        }
      }
    }
    try record.note(store)
    try store.close()
    return try DamageSample("indexes", disk, record)
  }

  private static func segments() throws -> DamageSample {
    try make("segments", options: options(segmentSize: 1_200, hasCode: false)) { store, _ in
      for number in 1...26 { try commit(number, to: store) }
    }
  }

  private static func compacted() throws -> DamageSample {
    try make("compacted", options: options(segmentSize: 1_200, hasCode: false)) { store, record in
      for number in 1...24 { try commit(number, to: store, byteCount: number == 9 ? 1_400 : 60) }
      try record.note(store)
      try store.compact(to: .before(17))
      for number in 25...30 { try commit(number, to: store) }
    }
  }

  private static func erased() throws -> DamageSample {
    try make("erased", options: options(segmentSize: 1_200, hasCode: false)) { store, _ in
      for number in 1...18 { try commit(number, to: store) }
      try store.erase("k5", in: "notes")
      for number in 19...22 { try commit(number, to: store) }
    }
  }

  /// A store whose process was killed after its last commits.
  private static func killed() throws -> DamageSample {
    let disk = MemoryFileSystem()
    var record = StoreRecord()
    let options = options(segmentSize: 2_000, hasCode: false)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    for number in 1...16 {
      try commit(number, to: store)
      if number == 8 { try store.checkpoint() }
    }
    try record.note(store)
    let sample = try DamageSample("killed", disk, record, isClosed: false)
    try store.close()
    return sample
  }

  /// A store that was killed with a torn tail, and whose doubtful commits recovery has copied.
  private static func recovered() throws -> DamageSample {
    let sample = try killed()
    let disk = MemoryFileSystem()
    try disk.setFiles(sample.files, in: "store")
    if let name = sample.files.keys.filter({ $0.hasPrefix("log/") }).max(),
      let bytes = sample.files[name]
    {
      disk.setContents(of: "store/\(name)", to: bytes + [0x57, 0x2A, 0x4D, 0x18, 9, 9, 9])
    }
    let options = options(segmentSize: 2_000, hasCode: false)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    for number in 17...22 { try commit(number, to: store) }
    var record = StoreRecord()
    try record.note(store)
    try store.close()
    return try DamageSample("recovered", disk, record)
  }

  /// A store whose log begins with the bases of a compacted one.
  private static func bases() throws -> DamageSample {
    let disk = MemoryFileSystem()
    let source = try Store(path: "source", fileSystem: disk, options: options(hasCode: false))
    for number in 1...20 { try commit(number, to: source) }
    try source.compact(to: .before(15))
    let bases = try source.baseCommits()
    let writer = try BaseWriter(folder: "store", fileSystem: disk)
    var previous: CommitNumber = 0
    for base in bases {
      try writer.write(try source.baseInfo(of: base)) { write in
        try source.forEachBaseOperation(of: base, after: previous, write)
      }
      previous = base
    }
    writer.close()
    try source.close()
    let store = try Store(path: "store", fileSystem: disk, options: options(hasCode: false))
    for number in 21...26 { try commit(number, to: store) }
    var record = StoreRecord()
    try record.note(store)
    try store.close()
    return try DamageSample("bases", disk, record)
  }

  /// A compacted store whose older generations still exist beside the segments, as after a crash.
  private static func generations() throws -> DamageSample {
    let disk = MemoryFileSystem()
    var record = StoreRecord()
    let options = options(segmentSize: 1_500, hasCode: false)
    let store = try Store(path: "store", fileSystem: disk, options: options)
    for number in 1...20 { try commit(number, to: store) }
    try record.note(store)
    var older: [String: [UInt8]] = [:]
    for name in try disk.list("store/log") { older[name] = disk.contents(of: "store/log/\(name)") }
    try store.compact(to: .before(14))
    for number in 21...24 { try commit(number, to: store) }
    try record.note(store)
    try store.close()
    let names = Set(try disk.list("store/log"))
    for (name, bytes) in older where !names.contains(name) {
      disk.setContents(of: "store/log/\(name)", to: bytes)
    }
    return try DamageSample("generations", disk, record)
  }
}

extension MemoryFileSystem {
  /// Puts files into a folder; creates the folder if it is missing.
  package func setFiles(_ files: [String: [UInt8]], in folder: String) throws {
    for folder in [folder, "\(folder)/log"] { try makeDirectory(folder) }
    for (name, bytes) in files { setContents(of: "\(folder)/\(name)", to: bytes) }
  }
}
