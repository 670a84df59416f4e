// The output of a command, taken piece by piece.

import Foundation
import TestSupport
import Testing

@testable import treering

/// An output to a file, and the text written since the last call of `take`.
final class WrittenOutput {
  let output: Output
  private let handle: FileHandle

  init(in folder: TemporaryFolder, isJSON: Bool = false) throws {
    let path = folder.path + "/printed"
    try Data().write(to: URL(filePath: path))
    handle = try #require(FileHandle(forUpdatingAtPath: path))
    output = Output(isJSON: isJSON, descriptor: handle.fileDescriptor)
  }

  func take() throws -> String {
    try output.flush()
    let end = try handle.offset()
    try handle.seek(toOffset: 0)
    let data = try handle.readToEnd() ?? Data()
    try handle.truncate(atOffset: 0)
    #expect(end == UInt64(data.count))
    return String(decoding: data, as: UTF8.self)
  }
}
