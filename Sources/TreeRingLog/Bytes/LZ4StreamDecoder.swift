// Decodes a stream of LZ4 frames that arrives in pieces: files of other programs. Like `lz4 -d`, it
// omits the content of skippable frames.

internal import CLZ4

/// Reads a stream of LZ4 frames piece by piece. For one thread at a time.
package final class LZ4StreamDecoder {
  private let context: OpaquePointer
  /// True if the bytes decoded so far end at the end of a frame.
  package private(set) var isAtFrameEnd = true

  package init() throws(TreeRingError) {
    context = try createContext(to: "decompress a file") {
      LZ4F_createDecompressionContext(&$0, UInt32(LZ4F_VERSION))
    }
  }

  deinit { LZ4F_freeDecompressionContext(context) }

  /// Whether bytes begin like an LZ4 frame, standard or skippable. False for fewer than four bytes.
  package static func recognizes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= 4 else { return false }
    let magic = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
    return magic == 0x184D_2204 || magic & 0xFFFF_FFF0 == 0x184D_2A50
  }

  /// Decodes as much as fits in `output`.
  ///
  /// - Returns: the bytes taken from `input` and the bytes written to `output`.
  /// - Throws: `invalidInput` if the stream is damaged or is not LZ4.
  package func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(TreeRingError) -> (taken: Int, written: Int) {
    var (taken, written) = (0, 0)
    while taken < input.count || !isAtFrameEnd {
      guard let source = input.baseAddress, let target = output.baseAddress else { break }
      var (sourceCount, targetCount) = (input.count - taken, output.count - written)
      let hint = LZ4F_decompress(
        context, target + written, &targetCount, source + taken, &sourceCount, nil)
      guard LZ4F_isError(hint) == 0 else {
        throw TreeRingError(
          .invalidInput,
          "The LZ4 stream is damaged: \(String(cString: LZ4F_getErrorName(hint))). Check the file "
            + "with `lz4 -t`.")
      }
      isAtFrameEnd = hint == 0
      taken += sourceCount
      written += targetCount
      if sourceCount == 0, targetCount == 0 { break }
    }
    return (taken, written)
  }
}
