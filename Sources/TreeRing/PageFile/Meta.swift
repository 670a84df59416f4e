// The entry point of a checkpoint, in a fixed slot: it leads to everything else in the page file.
// Checkpoints write two slots in turn, so while one is written the other is whole. A meta is valid
// only if its magic, version, checksum, slot and fields are all in order.

package import TreeRingLog

/// One of the page file's two entry points.
package struct Meta: Hashable, Sendable {
  /// The identity of the log that it belongs to.
  package var storeID: UInt64
  /// The checkpoint's number; its lowest bit gives the slot.
  package var sequence: UInt64
  /// The position of the checkpoint's commit in the log.
  package var position: LogPosition
  /// One above the highest page number in use or free.
  package var pageBound: PageNumber
  /// The free map: the free numbers below the bound.
  package var free: BlobReference
  /// The list of `RetainedRoot`, oldest first; the last is this checkpoint's own.
  package var roots: BlobReference
  /// The number of pages in use, list pages included.
  package var livePageCount: UInt64

  package init(
    storeID: UInt64, sequence: UInt64, position: LogPosition, pageBound: PageNumber,
    free: BlobReference, roots: BlobReference, livePageCount: UInt64
  ) {
    self.storeID = storeID
    self.sequence = sequence
    self.position = position
    self.pageBound = pageBound
    self.free = free
    self.roots = roots
    self.livePageCount = livePageCount
  }

  /// The slot of this meta, 0 or 1.
  package var slot: Int { Int(sequence & 1) }

  private typealias Layout = PageFileLayout.Meta

  /// The image, one page long.
  package func encode() -> [UInt8] {
    var image = [UInt8](repeating: 0, count: PageLayout.pageByteCount)
    image.withUnsafeMutableBytes { image in
      image.put(Layout.magic, at: Layout.magicOffset)
      image.put(Layout.formatVersion, at: Layout.formatVersionOffset)
      image.put(UInt32(PageLayout.pageByteCount), at: Layout.pageByteCountOffset)
      image.put(pageBound, at: Layout.pageBoundOffset)
      image.put(storeID, at: Layout.storeIDOffset)
      image.put(sequence, at: Layout.sequenceOffset)
      image.put(livePageCount, at: Layout.livePageCountOffset)
      image.put(position.segment, at: Layout.segmentOffset)
      image.put(position.salt, at: Layout.saltOffset)
      image.put(position.offset, at: Layout.logOffsetOffset)
      image.put(position.commit, at: Layout.commitOffset)
      image.put(position.timestamp.microseconds, at: Layout.timestampOffset)
      image.put(position.generation, at: Layout.generationOffset)
      image.put(position.chain, at: Layout.chainOffset)
      image.put(position.identity, at: Layout.identityOffset)
      image.put(free.page, at: Layout.freePageOffset)
      image.put(free.birth, at: Layout.freeBirthOffset)
      image.put(free.byteCount, at: Layout.freeByteCountOffset)
      image.put(roots.birth, at: Layout.rootsBirthOffset)
      image.put(roots.byteCount, at: Layout.rootsByteCountOffset)
      image.put(roots.page, at: Layout.rootsPageOffset)
      image.put(Self.checksum(of: UnsafeRawBufferPointer(image)), at: Layout.checksumOffset)
    }
    return image
  }

  /// Whether an image of one page begins with a meta's magic number.
  static func hasMagic(_ image: UnsafeRawBufferPointer) -> Bool {
    image.number(UInt64.self, at: Layout.magicOffset) == Layout.magic
  }

  /// Decodes the meta in an image of one page.
  /// - Parameter slot: The slot of the image; nil to skip that check.
  /// - Throws: `corruption` if the meta is not sound.
  package static func decode(
    _ image: UnsafeRawBufferPointer, slot: Int? = nil
  ) throws(TreeRingError) -> Meta {
    guard image.count == PageLayout.pageByteCount else {
      throw damaged("it is \(image.count) bytes long, not \(PageLayout.pageByteCount)")
    }
    let magic = image.number(UInt64.self, at: Layout.magicOffset)
    guard magic == Layout.magic else { throw damaged("its magic number is \(magic)") }
    let version = image.number(UInt32.self, at: Layout.formatVersionOffset)
    guard version == Layout.formatVersion else {
      throw damaged("its format version, \(version), is not known")
    }
    guard image.number(UInt32.self, at: Layout.checksumOffset) == checksum(of: image) else {
      throw damaged("its checksum does not match")
    }
    let pageSize = image.number(UInt32.self, at: Layout.pageByteCountOffset)
    guard pageSize == UInt32(PageLayout.pageByteCount) else {
      throw damaged("its pages have \(pageSize) bytes")
    }
    guard image.isZero(from: Layout.endOffset) else {
      throw damaged("the bytes after its fields are not zero")
    }
    let meta = Meta(fieldsOf: image)
    if let slot, slot != meta.slot { throw damaged("its number is \(meta.sequence)") }
    if let flaw = meta.flaw { throw damaged(flaw) }
    return meta
  }

  private init(fieldsOf image: UnsafeRawBufferPointer) {
    storeID = image.number(UInt64.self, at: Layout.storeIDOffset)
    sequence = image.number(UInt64.self, at: Layout.sequenceOffset)
    position = LogPosition(
      segment: image.number(UInt64.self, at: Layout.segmentOffset),
      generation: image.number(UInt32.self, at: Layout.generationOffset),
      salt: image.number(UInt64.self, at: Layout.saltOffset),
      offset: image.number(UInt64.self, at: Layout.logOffsetOffset),
      chain: image.number(UInt32.self, at: Layout.chainOffset),
      commit: image.number(UInt64.self, at: Layout.commitOffset),
      timestamp: Timestamp(microseconds: image.number(Int64.self, at: Layout.timestampOffset)),
      identity: image.number(UInt32.self, at: Layout.identityOffset))
    pageBound = image.number(UInt32.self, at: Layout.pageBoundOffset)
    free = BlobReference(
      page: image.number(UInt32.self, at: Layout.freePageOffset),
      birth: image.number(UInt64.self, at: Layout.freeBirthOffset),
      byteCount: image.number(UInt64.self, at: Layout.freeByteCountOffset))
    roots = BlobReference(
      page: image.number(UInt32.self, at: Layout.rootsPageOffset),
      birth: image.number(UInt64.self, at: Layout.rootsBirthOffset),
      byteCount: image.number(UInt64.self, at: Layout.rootsByteCountOffset))
    livePageCount = image.number(UInt64.self, at: Layout.livePageCountOffset)
  }

  /// The first field that contradicts another, in words; nil if none does.
  var flaw: String? {
    if pageBound == 0 || pageBound > PageFileLayout.maxPageNumber + 1 {
      return "its page numbers end at \(pageBound)"
    }
    if !position.isPlausible { return "it is of commit \(position.commit)" }
    if livePageCount >= UInt64(pageBound) { return "it counts \(livePageCount) pages" }
    if let flaw = free.flaw(below: pageBound) { return "of its free map: \(flaw)" }
    if let flaw = roots.flaw(below: pageBound) { return "of its roots: \(flaw)" }
    if free.byteCount > FreeMap.byteCount(below: pageBound) {
      return "its free map has \(free.byteCount) bytes"
    }
    return nil
  }

  /// The checksum of everything but the checksum itself.
  private static func checksum(of image: UnsafeRawBufferPointer) -> UInt32 {
    let head = UnsafeRawBufferPointer(rebasing: image[..<Layout.checksumOffset])
    let rest = UnsafeRawBufferPointer(rebasing: image[(Layout.checksumOffset + 4)...])
    return crc32c(rest, seed: crc32c(head))
  }

  private static func damaged(_ flaw: String) -> TreeRingError {
    TreeRingError(
      .corruption, "A meta of the page file is damaged: \(flaw). \(PageFile.remedy)")
  }
}
