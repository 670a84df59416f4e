// The common part of the store's tests: a typed bucket, and short forms for errors and rows.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// A row with a group and a number for its order.
struct Note: Codable, Hashable, Sendable {
  var group: String?
  var number: Int
  var text = ""
}

let notes = Bucket<Note>("notes")
let blobs = Bucket<[UInt8]>.bytes("blobs")

/// Notes by group, ordered by number.
func byGroup(_ name: String = "byGroup", version: UInt32 = 1) -> GroupIndex {
  GroupIndex(name, on: notes, version: version) { note in
    note.group.map { Place(in: $0, by: .ascending(note.number)) }
  }
}

/// The code of the error that `body` throws; nil if it throws none.
func code<R>(of body: () throws -> R) -> TreeRingError.Code? {
  error(of: body)?.code
}

/// The error that `body` throws; nil if it throws no `TreeRingError`.
func error<R>(of body: () throws -> R) -> TreeRingError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? TreeRingError
  }
}

/// The error that `body` throws; nil if it throws no `TreeRingError`.
func error<R>(of body: () async throws -> R) async -> TreeRingError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? TreeRingError
  }
}

extension Store {
  /// Puts bytes under a key, in a separate commit.
  @discardableResult
  func put(_ bytes: [UInt8], for key: Key) throws -> CommitNumber {
    try write { try $0.put(bytes, for: key, in: blobs) }.commit
  }

  /// Puts a note under a key, in a separate commit.
  @discardableResult
  func put(_ note: Note, for key: Key) throws -> CommitNumber {
    try write { try $0.put(note, for: key, in: notes) }.commit
  }

  /// A store in memory with few cells to a page, so that few rows make deep trees.
  static func tiny(indexes: [any IndexDeclaration] = []) throws -> Store {
    var options = StoreOptions(indexes: indexes)
    options.pageCellCapacity = 4
    return try inMemory(options: options)
  }
}

extension Snapshot {
  /// Every tag with its commit.
  func tagTexts() throws -> [String] { try tags().map { "\($0.name) \($0.commit)" } }
}

extension IndexReader {
  /// The keys of a group's rows, in order.
  func keys(_ group: GroupName, _ range: Range<Int>? = nil, reversed: Bool = false) throws
    -> [String]
  {
    var keys: [String] = []
    try forEachRow(in: group, range, reversed: reversed) { _, row in
      keys.append(row.key.description)
      return true
    }
    return keys
  }
}

/// A store on a simulated disk, and the disk.
struct Disk {
  let files: SimulatedFileSystem

  init(seed: UInt64 = 1) { files = SimulatedFileSystem(seed: seed) }
  init(_ files: SimulatedFileSystem) { self.files = files }

  func open(
    mode: StoreMode = .create, durability: Durability = .full, segmentSize: UInt64 = 64 << 10,
    indexes: [GroupIndex] = [], recovery: RecoveryMode = .tail, cells: Int = 4
  ) throws -> Store {
    var options = StoreOptions(
      mode: mode, durability: durability, segmentSize: segmentSize, indexes: indexes,
      recovery: recovery, logger: quietLogger)
    options.pageCellCapacity = cells
    return try Store(path: "store", fileSystem: files, options: options)
  }

  /// Every file and its bytes.
  var contents: [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: files.paths.map { ($0, files.contents(of: $0) ?? []) })
  }
}
