// A search for bytes among bytes.

internal import Foundation
internal import TreeRingLog

/// Whether some bytes occur among others, at any place. The part is not empty.
package func contains(_ part: [UInt8], in bytes: [UInt8]) -> Bool {
  bytes.withUnsafeBytes { bytes in
    part.withUnsafeBytes { part in
      guard let base = part.baseAddress, let first = part.first else { return true }
      var rest = bytes[...]
      while rest.count >= part.count,
        let start = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
        let found = memchr(start, Int32(first), rest.count - part.count + 1)
      {
        if memcmp(found, base, part.count) == 0 { return true }
        rest = rest.dropFirst(UnsafeRawPointer(found) - start + 1)
      }
      return false
    }
  }
}
