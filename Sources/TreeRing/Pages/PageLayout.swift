// Every constant of a page. A page is 4,096 bytes, little-endian, the same in memory and on disk:
//
//   0  u32  checksum: CRC-32C of bytes 4..<4096, set when the page is written out; in memory the
//           upper half of the owner stamp
//   4  u8   format version
//   5  u8   level: 0 = leaf, otherwise the height above the leaves
//   6  u16  cell count n
//   8  u32  page number
//  12  u16  prefix length p: every key of the page starts with the same p bytes
//  14  u16  heap start: the lowest byte in use by the heap, which grows down from the page's end
//  16  u64  birth: the commit whose transaction made the page, and its edition (see PageBirth)
//  24  u16  dead bytes: heap bytes that removed cells have left
//  26  u16  kind: 0 = tree page
//  28  u32  owner: lower half of the stamp of the transaction that may edit it; 0 when written out
//  32  p bytes of prefix, padded with zeros to a multiple of 8
//      n slots of 8 bytes, in key order: u32 head, u16 offset, u16 key length without the prefix
//      inner pages: n subtree counts (u64), n child births (u64), n child page numbers (u32)
//      the gap: zeros in the file, undefined bytes in memory
//      the heap: cells in any order
//
// A head is the first 4 key bytes after the prefix as a big-endian number, padded with zeros. A
// key's tail is the rest after prefix and head. A leaf cell is u16 value length, tail, value; an
// inner cell is only the tail of a separator. Slot 0 of an inner page stands for "before
// everything": its key is empty and never read. Every other unused byte is zero.

/// The constants of a page's byte map.
package enum PageLayout {
  /// The size of every page, in bytes.
  package static let pageByteCount = 4096
  /// The format version in every page.
  static let formatVersion: UInt8 = 1

  package static let checksumOffset = 0
  static let formatVersionOffset = 4
  static let levelOffset = 5
  static let cellCountOffset = 6
  package static let numberOffset = 8
  static let prefixLengthOffset = 12
  static let heapStartOffset = 14
  package static let birthOffset = 16
  static let deadByteCountOffset = 24
  package static let kindOffset = 26
  static let ownerOffset = 28
  package static let headerByteCount = 32

  /// The size of a slot, in bytes.
  static let slotByteCount = 8
  /// The number of key bytes in the slot.
  package static let headByteCount = 4
  /// The bytes of a leaf entry besides key tail and value: its slot and the value's length.
  static let leafEntryOverhead = 10
  /// The bytes of an inner entry besides its key tail: slot, count, birth, child.
  static let innerEntryOverhead = 28

  /// The maximum length of a key together with its value, in bytes. It is less than half a page and
  /// leaves room for growth of the prefix, so that a page that overflows by one entry always splits
  /// in two.
  static let maxCellByteCount = 1984
  /// A bound on the height of trees, far above the height that 2^32 pages allow.
  static let maxHeight = 64
  /// The maximum number of entries that a tree of so many pages may state: the capacity of its
  /// pages if all were leaves.
  static func maxEntryCount(below bound: PageNumber) -> UInt64 {
    UInt64(bound) * UInt64(pageByteCount / leafEntryOverhead)
  }
  /// A bound on the number of entries of any tree in a page file.
  static let maxEntryCount = maxEntryCount(below: 1 << 31)
  /// A bound on the number of cells in any two pages.
  static let maxCellCountOfTwoPages = 2 * (pageByteCount / leafEntryOverhead) + 2

  /// The number of bytes that a prefix of this length takes in a page.
  @inline(__always)
  static func paddedPrefixByteCount(_ prefixLength: Int) -> Int { (prefixLength + 7) & ~7 }
}
