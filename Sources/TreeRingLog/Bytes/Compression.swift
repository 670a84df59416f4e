// LZ4 frames, written and read by the system's liblz4: independent blocks of at most 64 KiB, no
// content checksum, no dictionary. One encoder or decoder serves many frames. Neither is Sendable;
// the owner guards it.

internal import CLZ4

/// Creates a context of LZ4; throws `io` if there is too little memory to do `work`.
func createContext(
  to work: String, _ create: (inout OpaquePointer?) -> LZ4F_errorCode_t
) throws(TreeRingError) -> OpaquePointer {
  var created: OpaquePointer?
  guard LZ4F_isError(create(&created)) == 0, let created else {
    throw TreeRingError(.io, "Not enough memory to \(work). Free memory and try again.")
  }
  return created
}

/// Writes LZ4 frames.
final class FrameCompressor {
  private let context: OpaquePointer
  /// LZ4 does not change them.
  @exclusivity(unchecked) private var preferences: LZ4F_preferences_t

  init() throws(TreeRingError) {
    context = try createContext(to: "compress commits") {
      LZ4F_createCompressionContext(&$0, UInt32(LZ4F_VERSION))
    }
    preferences = LZ4F_preferences_t()
    preferences.frameInfo.blockSizeID = LZ4F_max64KB
    preferences.frameInfo.blockMode = LZ4F_blockIndependent
    preferences.autoFlush = 1
  }

  deinit { LZ4F_freeCompressionContext(context) }

  /// Appends one frame that holds `bytes` to `buffer` and returns the frame's length.
  /// - Parameter blocks: The first blocks of the frame, compressed before.
  func append(
    _ bytes: UnsafeRawBufferPointer, blocks: [[UInt8]] = [], to buffer: ByteBuffer
  ) throws(TreeRingError) -> Int {
    let start = buffer.count
    let header = buffer.room(for: Int(LZ4F_HEADER_SIZE_MAX))
    buffer.count += try checked(
      LZ4F_compressBegin(context, header.baseAddress, header.count, &preferences))
    for block in blocks { block.withUnsafeBytes { buffer.append($0) } }
    var index = blocks.count * Format.blockByteCount
    while index < bytes.count {
      // One piece at a time keeps the worst-case room small.
      let piece = min(bytes.count - index, 16 * Format.blockByteCount)
      let room = buffer.room(for: LZ4F_compressBound(piece, &preferences))
      let source = bytes.baseAddress.map { $0 + index }
      buffer.count += try checked(
        LZ4F_compressUpdate(context, room.baseAddress, room.count, source, piece, nil))
      index += piece
    }
    let end = buffer.room(for: LZ4F_compressBound(0, &preferences))
    buffer.count += try checked(LZ4F_compressEnd(context, end.baseAddress, end.count, nil))
    return buffer.count - start
  }

  private func checked(_ code: Int) throws(TreeRingError) -> Int {
    guard LZ4F_isError(code) == 0 else {
      throw TreeRingError(
        .io,
        "LZ4 cannot compress a commit: \(String(cString: LZ4F_getErrorName(code))). It was not "
          + "written."
      )
    }
    return code
  }
}

/// Reads LZ4 frames.
final class FrameDecompressor {
  private let context: OpaquePointer

  init() throws(TreeRingError) {
    context = try createContext(to: "decompress commits") {
      LZ4F_createDecompressionContext(&$0, UInt32(LZ4F_VERSION))
    }
  }

  deinit { LZ4F_freeDecompressionContext(context) }

  /// Decodes one frame into the start of `target`. Returns false unless `frame` is exactly one
  /// frame that yields exactly `byteCount` bytes. With a longer `target` LZ4 saves a copy.
  func decode(
    _ frame: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, byteCount: Int
  ) -> Bool {
    LZ4F_resetDecompressionContext(context)
    var options = LZ4F_decompressOptions_t()
    options.stableDst = 1
    var (taken, given) = (0, 0)
    while true {
      guard let source = frame.baseAddress, let base = target.baseAddress else { return false }
      var (sourceCount, targetCount) = (frame.count - taken, target.count - given)
      let hint = LZ4F_decompress(
        context, base + given, &targetCount, source + taken, &sourceCount, &options)
      taken += sourceCount
      given += targetCount
      if LZ4F_isError(hint) != 0 { return false }
      if hint == 0 { return taken == frame.count && given == byteCount }
      if sourceCount == 0 && targetCount == 0 { return false }
    }
  }
}
