// Joins the parts of batches, and checks that each entry follows the one before.

internal import TreeRingLog

/// Reads entries in order, from any place on.
struct EntryAssembly {
  /// The store whose log it is.
  let storeID: UInt64
  /// The last entry taken.
  private(set) var place: LogPlace
  /// The newest commit that the entries taken so far hold or state; nil before the first.
  private(set) var newest: CommitNumber?
  private var parts: [UInt8] = []
  private var head: EntryHeader?

  init(storeID: UInt64, after place: LogPlace) {
    self.storeID = storeID
    self.place = place
  }

  /// A whole batch, or another entry.
  struct Item {
    var header: EntryHeader
    var body: [UInt8]
  }

  /// Takes the next entry.
  /// - Returns: The item that it completes; nil if it completes none.
  /// - Throws: `corruption`, `unsupportedFormat`; `diverged` if it is another store's or does not
  ///   follow the entry before. Then it was not taken.
  mutating func take(_ entry: [UInt8]) throws(TreeRingError) -> Item? {
    let sequence = place.sequence + 1
    let header = try EntryHeader(of: entry, at: sequence)
    guard header.storeID == storeID else {
      throw Self.diverged(sequence, "it belongs to another store")
    }
    guard place.id == nil || header.previous == place.id else {
      throw Self.diverged(sequence, "it does not follow the entry before, as read here")
    }
    place = LogPlace(sequence: sequence, id: header.id)
    let body = entry[EntryHeader.byteCount...]
    if header.part == 0 {
      head = header
      parts = []
    } else {
      // The rest of a batch of which the beginning was trimmed, or not read.
      guard let head, head.part + 1 == header.part, head.partCount == header.partCount,
        head.first == header.first, head.last == header.last
      else {
        self.head = nil
        parts = []
        return nil
      }
      self.head = header
    }
    guard header.part + 1 == header.partCount else {
      parts += body
      return nil
    }
    let whole = parts.isEmpty ? [UInt8](body) : parts + body
    head = nil
    parts = []
    newest = header.last
    return Item(header: header, body: whole)
  }

  /// Moves on to an entry that this replica has appended.
  mutating func skip(to place: LogPlace, newest: CommitNumber) {
    self.place = place
    self.newest = newest
    head = nil
    parts = []
  }

  static func diverged(_ sequence: UInt64, _ problem: String) -> TreeRingError {
    TreeRingError(
      .diverged,
      "Entry \(sequence) of the shared log cannot be taken: \(problem). The log was re-created, or "
        + "set back to an earlier state. Nothing was changed here. Find out which of them is "
        + "right; a new folder begins with the shared log's commits.", offset: sequence)
  }
}
