// The table that maps keys to shards. Each row of the bucket `shards` is one shard; its key is the
// shard's name. A key belongs to one of 4,096 slots by its CRC-32C, and each slot to one shard.

public import TreeRing
internal import TreeRingLog

/// One of the stores over which keys are spread.
public struct Shard: Codable, Hashable, Sendable {
  /// The name of the shard, and of its shared log.
  public var name: String
  /// The slots whose keys it has.
  public var slots: Range<Int>
  /// The name of the machine that leads its store.
  public var place: String

  /// The number of slots.
  public static let slotCount = 4096

  /// The slot of a key. The same on every machine, for ever.
  public static func slot(of key: Key) -> Int {
    Int(key.bytes.withUnsafeBytes { crc32c($0) } % UInt32(slotCount))
  }
}

/// The rows of the table.
enum ShardTable {
  static let bucket = Bucket<Shard>("shards")

  /// Shards that divide the slots evenly, placed on machines in turn.
  /// - Throws: `invalidInput` unless there are 1 to 4,096 different names that folders can have,
  ///   and a place.
  static func even(_ names: [String], places: [String]) throws(TreeRingError) -> [Shard] {
    guard !names.isEmpty, names.count <= Shard.slotCount, Set(names).count == names.count,
      !places.isEmpty, names.allSatisfy(isName)
    else {
      throw TreeRingError(
        .invalidInput,
        "A table has 1 to \(Shard.slotCount) shards of different names, and at least a place. "
          + "A name is that of a folder, and not “\(Shards.tableName)”.")
    }
    return names.enumerated().map { index, name in
      let bound = { (index: Int) in index * Shard.slotCount / names.count }
      return Shard(
        name: name, slots: bound(index)..<bound(index + 1), place: places[index % places.count])
    }
  }

  /// Whether a shard may have a name: it is that of its folder, beside the table's.
  private static func isName(_ name: String) -> Bool {
    !["", ".", "..", Shards.tableName].contains(name) && !name.contains("/")
      && !name.utf8.contains(0)
  }

  static func rows(_ snapshot: Snapshot) throws -> [Shard] {
    try snapshot.rows(in: bucket).map(\.row).sorted { $0.slots.lowerBound < $1.slots.lowerBound }
  }
}
