// Reads a text file line by line; decompresses it if its name ends in `.lz4`.

internal import CLZ4Frame
internal import Foundation

/// The lines of a file.
public final class LineFile {
  private let file: FileHandle
  private var context: OpaquePointer?
  private var input: [UInt8] = []
  private var inputStart = 0
  private var text: [UInt8] = []
  private var textStart = 0
  private var isAtEnd = false
  private static let chunkByteCount = 1 << 20

  public init(path: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw BenchmarkError("\(path) does not exist")
    }
    self.file = file
    if path.hasSuffix(".lz4") {
      guard LZ4F_isError(LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))) == 0
      else { throw BenchmarkError("LZ4 could not create a decoder") }
    }
  }

  deinit { LZ4F_freeDecompressionContext(context) }

  /// Calls `body` with the next line, without its end. Returns nil after the last line.
  public func next<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    while true {
      let end = text[textStart...].firstIndex(of: 10)
      if let end {
        defer { textStart = end + 1 }
        return try text.withUnsafeBytes {
          try body(UnsafeRawBufferPointer(rebasing: $0[textStart..<end]))
        }
      }
      if isAtEnd { return nil }
      text.removeSubrange(..<textStart)
      textStart = 0
      try fill()
    }
  }

  private func fill() throws {
    if inputStart == input.count {
      input = try file.read(upToCount: Self.chunkByteCount).map(Array.init) ?? []
      inputStart = 0
      if input.isEmpty {
        isAtEnd = true
        return
      }
    }
    guard let context else {
      text += input
      inputStart = input.count
      return
    }
    let length = text.count
    text.append(contentsOf: repeatElement(0, count: Self.chunkByteCount))
    var produced = Self.chunkByteCount
    var consumed = input.count - inputStart
    let result = text[length...].withUnsafeMutableBytes { text in
      input[inputStart...].withUnsafeBytes { input in
        LZ4F_decompress(context, text.baseAddress, &produced, input.baseAddress, &consumed, nil)
      }
    }
    guard LZ4F_isError(result) == 0 else { throw BenchmarkError("the file is not valid LZ4") }
    text.removeLast(Self.chunkByteCount - produced)
    inputStart += consumed
  }
}
