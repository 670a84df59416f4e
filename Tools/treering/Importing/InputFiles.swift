// The input of an import: files one after the other, or standard input; each may be LZ4-compressed.

import Foundation
import TreeRing
import TreeRingLog

/// The files of an import as one sequence of lines.
final class InputFiles {
  private var waiting: [String]
  private var reader: LineReader?
  private var descriptor: Int32 = -1
  /// The next line if `peek` has read it; the inner nil stands for the end of the input.
  private var peeked: UnsafeRawBufferPointer??
  private var finishedBytes: UInt64 = 0
  private var finishedSourceBytes: UInt64 = 0
  /// The name of the current file; `-` is standard input.
  private(set) var name = "-"
  /// The total size of all files in bytes; nil if standard input is among them.
  let totalByteCount: UInt64?

  /// The input files, which must exist; standard input if there are none.
  init(_ files: [String]) throws {
    waiting = files.isEmpty ? ["-"] : files
    var total: UInt64? = 0
    for file in waiting {
      if file == "-" {
        total = nil
        continue
      }
      var information = stat()
      guard stat(file, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else {
        throw Failure(.noInput, "There is no file \(file) to import.")
      }
      if let known = total { total = known + UInt64(information.st_size) }
    }
    totalByteCount = total
  }

  deinit { close() }

  /// The number of the last returned line, in its file.
  var lineNumber: Int { reader?.lineNumber ?? 0 }
  /// The number of bytes read from the files, before decompression.
  var sourceByteCount: UInt64 { finishedSourceBytes + (reader?.sourceByteCount ?? 0) }
  /// The number of bytes of the returned lines.
  var lineByteCount: UInt64 { finishedBytes + (reader?.lineByteCount ?? 0) }

  /// The line that `next` will return; nil at the end of the last file.
  func peek() throws -> UnsafeRawBufferPointer? {
    if let peeked { return peeked }
    let line = try read()
    peeked = .some(line)
    return line
  }

  /// The next line of all files; nil at the end of the last one. Valid until the next call of this
  /// or `peek`.
  func next() throws -> UnsafeRawBufferPointer? {
    let line = try peek()
    peeked = nil
    return line
  }

  private func read() throws -> UnsafeRawBufferPointer? {
    while true {
      if let reader {
        do {
          if let line = try reader.next() {
            return reader.lineNumber == 1 ? withoutMark(line) : line
          }
        } catch {
          throw error.code == .invalidInput
            ? Failure(.badInput, "\(name), line \(reader.lineNumber + 1): \(error.description)")
            : Failure(error)
        }
        finishedBytes += reader.lineByteCount
        finishedSourceBytes += reader.sourceByteCount
        close()
      }
      guard !waiting.isEmpty else { return nil }
      try open(waiting.removeFirst())
    }
  }

  /// A file's first line without a byte order mark.
  private func withoutMark(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    line.starts(with: [0xEF, 0xBB, 0xBF]) ? UnsafeRawBufferPointer(rebasing: line[3...]) : line
  }

  /// The file and number of the last returned line, for a message.
  var place: String { name == "-" ? "line \(lineNumber)" : "\(name), line \(lineNumber)" }

  /// Adds the line's file and number to errors that the line causes.
  func failing<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as TreeRingError {
      switch error.code {
      case .invalidInput, .tooLarge, .notFound, .alreadyExists, .notAllowed:
        throw Failure(.badInput, "\(place): \(error.description)")
      default: throw error
      }
    }
  }

  private func open(_ file: String) throws {
    name = file
    descriptor = file == "-" ? STDIN_FILENO : Foundation.open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(.noInput, "\(file) cannot be read: \(String(cString: strerror(errno))).")
    }
    let descriptor = descriptor
    reader = LineReader { (buffer) throws(TreeRingError) in
      while true {
        let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
        if count >= 0 { return count }
        if errno == EINTR {
          if !Interrupt.isRequested { continue }
          throw TreeRingError(.cancelled, "Interrupted; --resume goes on.")
        }
        throw TreeRingError(
          .io, "Reading failed: \(String(cString: strerror(errno))).", file: file, errno: errno)
      }
    }
  }

  private func close() {
    reader = nil
    if descriptor > STDIN_FILENO { _ = Foundation.close(descriptor) }
    descriptor = -1
  }
}
