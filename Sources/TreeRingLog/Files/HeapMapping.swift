// Mappings of files that are not on a disk: heap memory that every write and truncation of the file
// is copied to. What is stored through a writable mapping is seen by all who map the same bytes, but
// not by `read`: so it is with the one word that is shared in this way, which nobody reads.
//
// The memory is zero until written and not supplied by the system before it is touched, so a mapping
// far beyond the file's end costs nothing.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Heap memory that stands for a part of a file.
package final class HeapMapping: FileMapping {
  /// Where the mapping begins in the file.
  fileprivate let offset: Int
  private let count: Int
  /// A word, because a pointer is not Sendable; the memory stays where it is until `deinit`.
  private let address: UInt

  fileprivate init(offset: Int, count: Int) {
    guard let memory = calloc(count, 1) else {
      preconditionFailure("out of memory for a mapping of \(count) bytes")
    }
    self.offset = offset
    self.count = count
    address = UInt(bitPattern: memory)
  }

  deinit { free(UnsafeMutableRawPointer(bitPattern: address)) }

  package var bytes: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(
      start: UnsafeMutableRawPointer(bitPattern: address), count: count)
  }

  /// The part of the mapping where bytes `range` of the file lie.
  fileprivate func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    let part = range.clamped(to: offset..<(offset + count))
    return UnsafeMutableRawBufferPointer(
      rebasing: bytes[(part.lowerBound - offset)..<(part.upperBound - offset)])
  }
}

extension HeapMapping {
  /// Copies a part of the file, which lies within the mapping.
  fileprivate func copy(_ range: Range<Int>, of file: [UInt8]) {
    file.withUnsafeBytes {
      part(range).copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[range]))
    }
  }
}

/// All mappings of one file. Whoever changes the file holds it under the same lock, and says so here.
package struct HeapMappings: Sendable {
  private struct Entry: Sendable {
    weak var mapping: HeapMapping?
    /// Holds a writable mapping as long as the file, since what was stored through it is nowhere else.
    var kept: HeapMapping?
  }
  private var entries: [Entry] = []

  package init() {}

  /// The mapping of `count` bytes from `offset` on; the one there is, if there is one.
  package mutating func map(
    _ file: [UInt8], at offset: Int, count: Int, writable: Bool
  ) -> HeapMapping {
    for index in entries.indices {
      if let mapping = entries[index].mapping, mapping.offset == offset,
        mapping.bytes.count == count
      {
        if writable { entries[index].kept = mapping }
        return mapping
      }
    }
    let mapping = HeapMapping(offset: offset, count: count)
    if offset < file.count {
      let present = offset..<min(file.count, offset + count)
      mapping.copy(present, of: file)
    }
    entries.removeAll { $0.mapping == nil }
    entries.append(Entry(mapping: mapping, kept: writable ? mapping : nil))
    return mapping
  }

  /// Bytes of the file have changed to what they are now.
  package func changed(_ range: Range<Int>, of file: [UInt8]) {
    for entry in entries {
      guard let mapping = entry.mapping else { continue }
      let bytes = mapping.bytes.count
      let part = range.clamped(to: mapping.offset..<(mapping.offset + bytes))
      if !part.isEmpty { mapping.copy(part, of: file) }
    }
  }

  /// The file has been cut from `old` to `new` bytes: what lay there is zero if it grows again.
  package func cut(from old: Int, to new: Int) {
    guard new < old else { return }
    for entry in entries {
      entry.mapping?.part(new..<old).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }

  /// Brings what was stored through writable mappings to the file's bytes; for a system that goes on
  /// after the process that stored it has ended.
  package func store(into file: inout [UInt8]) {
    for entry in entries {
      guard let mapping = entry.kept, mapping.offset < file.count else { continue }
      let present = mapping.offset..<min(file.count, mapping.offset + mapping.bytes.count)
      file.replaceSubrange(present, with: mapping.part(present))
    }
  }
}
