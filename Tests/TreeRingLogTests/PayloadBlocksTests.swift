// Blocks that were compressed while a payload grew: the frame is the one that is made without them.

import TestSupport
import Testing

@testable import TreeRingLog

@Suite("Blocks of payloads") struct PayloadBlocksTests {
  private static let block = PayloadBlocks.blockByteCount

  /// Bytes that compress well, badly, and not at all.
  private static func payload(
    _ byteCount: Int, _ random: inout SeededGenerator
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < byteCount {
      let run = Int.random(in: 1...5_000, using: &random)
      let largest: UInt8 = [0, 3, 255][Int.random(in: 0..<3, using: &random)]
      bytes += (0..<run).map { _ in UInt8.random(in: 0...largest, using: &random) }
    }
    return Array(bytes[..<byteCount])
  }

  private static func frame(of payload: [UInt8], blocks: [[UInt8]] = []) throws -> [UInt8] {
    let buffer = ByteBuffer()
    let compressor = try FrameCompressor()
    // The compressor serves many frames.
    for _ in 0..<2 {
      buffer.reset()
      _ = try payload.withUnsafeBytes { try compressor.append($0, blocks: blocks, to: buffer) }
    }
    return Array(buffer.bytes)
  }

  private static func blocks(of payload: [UInt8]) -> PayloadBlocks {
    let blocks = PayloadBlocks()
    for start in stride(from: 0, through: payload.count - block, by: block) {
      payload[start..<start + block].withUnsafeBytes { blocks.add($0) }
    }
    return blocks
  }

  @Test(
    "A frame with blocks compressed ahead is the frame without them",
    arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000, 3_000_000])
  func sameFrame(byteCount: Int) throws {
    for seed in seeds(1...6) {
      var random = SeededGenerator(seed: seed)
      let payload = Self.payload(byteCount, &random)
      let frame = try Self.frame(of: payload, blocks: Self.blocks(of: payload).finish())
      #expect(try frame == Self.frame(of: payload), "seed \(seed)")
      var decoded = [UInt8](repeating: 0, count: byteCount + 1)
      let isDecoded = try frame.withUnsafeBytes { frame in
        try decoded.withUnsafeMutableBytes {
          try FrameDecompressor().decode(frame, into: $0, byteCount: byteCount)
        }
      }
      #expect(isDecoded && decoded.dropLast() == payload[...], "seed \(seed)")
    }
  }

  @Test("Payloads of many threads are compressed at once")
  func manyThreads() async throws {
    var random = SeededGenerator(seed: 1)
    let payload = Self.payload(40 * Self.block + 7, &random)
    let expected = try Self.frame(of: payload)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try Self.frame(of: payload, blocks: Self.blocks(of: payload).finish()) == expected
        }
      }
      for try await isSame in group { #expect(isSame) }
    }
  }
}
