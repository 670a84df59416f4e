import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("A reader of a state") struct StateReaderTests {
  /// The objects that a reader finds under the keys 0..<200, as numbers.
  private func objects(_ reader: StateReader) throws -> [Int?] {
    try (0..<200).map { row in
      let object = try reader.storedRow(bucket: "rows", key: Key(row))?.object
      return object.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
  }

  @Test(
    "It keeps its version, whose pages stay as they are, whatever is committed meanwhile",
    arguments: [true, false])
  func keepsVersion(inMemory: Bool) throws {
    let store =
      inMemory
      ? try Store.inMemory()
      : try Store(
        path: "store", fileSystem: SimulatedFileSystem(seed: 1),
        options: StoreOptions(logger: quietLogger))
    func write(_ value: Int) throws {
      try store.write { tx in
        for row in 0..<200 {
          try tx.put(Array("\(value)".utf8), for: Key(row), in: .bytes("rows"))
        }
      }
    }
    try write(0)
    weak var version: Version?
    version = store.engine.queue.visible
    do {
      // Nothing but the reader holds the version once it is no recent one.
      let reader = store.reader(of: store.engine.queue.visible)
      for value in 1...100 { try write(value) }
      if !inMemory { try store.checkpoint() }
      for value in 101...200 { try write(value) }
      #expect(!store.engine.queue.readable.contains { $0.roots.commit == 1 })
      // Reading freed pages might trap.
      try #require(version != nil)
      #expect(try objects(reader) == Array(repeating: 0, count: 200))
      #expect(try reader.isTagged(1) == false && reader.tags(below: 9).isEmpty)
    }
    try write(201)
    #expect(version == nil)
    #expect(try objects(store.reader(of: store.engine.queue.visible)).allSatisfy { $0 == 201 })
    try store.close()
  }
}
