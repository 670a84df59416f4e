// Sorted changes of some rows, passed on together: the merge of runs fills a batch while the
// batch before it is applied.

/// Records in key order, those of a row by time. All records of a row are in the same batch.
final class ChangeBatch {
  /// The number of record bytes from which on a batch is full.
  static let byteLimit = 128 << 10

  @exclusivity(unchecked) private(set) var records: [SortRecord] = []
  private let arena = ByteArena()
  @exclusivity(unchecked) private var byteCount = 0

  /// Whether the row of a record belongs into the next batch.
  @inline(__always)
  func isFull(before record: SortRecord) -> Bool {
    guard byteCount >= Self.byteLimit, let last = records.last else { return false }
    return !record.hasKey(of: last)
  }

  /// Adds a record.
  /// - Parameter outlives: Whether the record's bytes stay where they are for as long as the batch
  ///   is in use; otherwise the batch copies them.
  @inline(__always)
  func append(_ record: SortRecord, outlives: Bool) {
    byteCount += record.byteCount
    records.append(outlives ? record : SortRecord(bytes: arena.copy(record.all).start))
  }

  /// Discards the records.
  func removeAll() {
    records.removeAll(keepingCapacity: true)
    arena.removeAll()
    byteCount = 0
  }
}
