// CRC-32C, the checksum of everything on disk. Uses the processor's instruction if available.

internal import CTreeRing

/// The CRC-32C of `bytes`, continuing from `seed`: `crc32c(b, seed: crc32c(a))` is that of a + b.
package func crc32c(_ bytes: UnsafeRawBufferPointer, seed: UInt32 = 0) -> UInt32 {
  guard let base = bytes.baseAddress else { return seed }
  return treering_crc32c(seed, base, bytes.count)
}

/// The CRC-32C computed from tables, which tests compare with the processor's instruction.
package func softwareCRC32C(_ bytes: [UInt8]) -> UInt32 {
  bytes.withUnsafeBytes { bytes in
    bytes.baseAddress.map { treering_crc32c_software(0, $0, bytes.count) } ?? 0
  }
}

/// The CRC-32C of an array.
package func crc32c(_ bytes: [UInt8], seed: UInt32 = 0) -> UInt32 {
  bytes.withUnsafeBytes { crc32c($0, seed: seed) }
}
