// The input of an import: files one after the other, or standard input.

import Foundation
import TreeRing
import TreeRingImport
import TreeRingLog

/// The files of an import as one sequence of lines.
struct InputFiles {
  let lines: LineReader
  /// The total size of all files in bytes; nil if standard input is among them.
  let totalByteCount: UInt64?

  /// The input files, which must exist; standard input if there are none.
  init(_ files: [String]) throws {
    let files = files.isEmpty ? ["-"] : files
    var total: UInt64? = 0
    for file in files {
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
    var waiting = files[...]
    lines = LineReader(opening: {
      guard let file = waiting.popFirst() else { return nil }
      return (file == "-" ? nil : file, try Self.source(of: file))
    })
  }

  /// The file and number of the last returned line, for a message.
  var place: String {
    lines.file.map { "\($0), line \(lines.lineNumber)" } ?? "line \(lines.lineNumber)"
  }

  /// Adds the line's file and number to errors that the line causes.
  func failing<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as TreeRingError {
      switch error.code {
      case .invalidInput, .tooLarge, .notFound, .alreadyExists, .notAllowed, .notUnique,
        .referenceMissing, .restricted, .notSummable, .indexDefinedInCode:
        throw Failure(.badInput, lines.located(error).description)
      default: throw error
      }
    }
  }

  private static func source(of file: String) throws -> LineReader.Source {
    let descriptor = file == "-" ? STDIN_FILENO : Foundation.open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(.noInput, "\(file) cannot be read: \(String(cString: strerror(errno))).")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: file != "-")
    return { buffer in
      while true {
        let count = Foundation.read(handle.fileDescriptor, buffer.baseAddress, buffer.count)
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
}
