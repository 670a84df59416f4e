// Decodes payloads and values into reused memory.

internal import TreeRingPlatform

/// The decompressor and buffers of one reading thread.
final class Decoder {
  let decompressor: FrameDecompressor
  /// The window of a reader; `plain` holds the decoded bytes of the last payload.
  let window = ByteBuffer()
  let plain = ByteBuffer()

  init() throws(TreeRingError) { decompressor = try FrameDecompressor() }

  /// Checks and decodes a payload; nil if it is damaged. The result is valid until the next call.
  func payload(
    _ stored: UnsafeRawBufferPointer, _ fields: CommitFields
  ) -> UnsafeRawBufferPointer? {
    guard crc32c(stored) == fields.payloadChecksum else { return nil }
    return decode(stored, byteCount: Int(fields.payloadPlain))
  }

  /// Checks and decodes a value; nil if it is damaged.
  func value(_ stored: UnsafeRawBufferPointer, _ entry: ValueEntry) -> [UInt8]? {
    guard crc32c(stored) == entry.checksum else { return nil }
    return decode(stored, byteCount: Int(entry.plain)).map { [UInt8]($0) }
  }

  /// Decodes one LZ4 frame of checked bytes; nil unless it yields exactly `byteCount` bytes. The
  /// result is valid until the next call.
  func decode(_ frame: UnsafeRawBufferPointer, byteCount: Int) -> UnsafeRawBufferPointer? {
    guard UInt64(byteCount) <= UInt64(frame.count) * Format.largestRatio else { return nil }
    plain.reset()
    // With room for one more block after the end, LZ4 decodes in place.
    let room = plain.room(for: byteCount + Format.blockByteCount)
    guard decompressor.decode(frame, into: room, byteCount: byteCount) else { return nil }
    plain.count = byteCount
    return plain.bytes
  }
}

/// A pool of idle decoders.
final class DecoderPool: Sendable {
  private struct Idle: ~Copyable {
    var decoders: [Decoder] = []
  }
  private let idle = Mutex(Idle())

  func withDecoder<R>(
    _ body: (Decoder) throws(TreeRingError) -> R
  ) throws(TreeRingError) -> R {
    let idle = idle.withLock { Transfer(decoder: $0.decoders.popLast()) }
    let decoder: Decoder
    if let known = idle.decoder { decoder = known } else { decoder = try Decoder() }
    defer { give(decoder) }
    return try body(decoder)
  }

  private func give(_ decoder: Decoder) {
    decoder.plain.reset()
    decoder.window.reset()
    let transfer = Transfer(decoder: decoder)
    idle.withLock { idle in
      if idle.decoders.count < 16, let decoder = transfer.decoder { idle.decoders.append(decoder) }
    }
  }

  /// A decoder that moves between the pool and a thread.
  private struct Transfer: @unchecked Sendable {
    // Only one thread has it at a time: it is either in the pool or with the thread that took it.
    let decoder: Decoder?
  }
}
