// A libFuzzer target for the decoders of log, payloads and page file: for any bytes, opening,
// replaying, showing and verifying return answers or typed errors. See README.md in this folder.
//
// The first byte of an input decides the use of the rest. Bit 1 clear: the rest is the only segment
// of a log. Bit 0 repairs checksums, salt, offset and chain of everything that looks like a header,
// so that the fuzzer also reaches the code behind those checks. Bit 1 set: the rest is the payload
// of the second commit of a store (FuzzPayload.swift). Bit 2 set: it is a page file or a part of
// one (FuzzPages.swift). 0x60 or 0x61: it is a whole store, a log with its page file
// (FuzzStore.swift). 0x62: it is a binary row (FuzzRows.swift).

import Foundation
import Logging
internal import TreeRingLog

@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// SwiftPM renames a target's `main` to this.
@_cdecl("Fuzz_main")
public func fuzzMain(
  _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
  if count > 1, let first = arguments[1], first[0] != 45 {
    writeCorpus(String(cString: first))
    writePayloads(String(cString: first))
    writePageFiles(String(cString: first))
    writeStores(String(cString: first))
    writeRows(String(cString: first))
  }
  var (count, arguments) = (count, arguments)
  return runDriver(&count, &arguments) { fuzzOneInput($0, $1) }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let bytes, count > 0 else { return 0 }
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  if input[0] & ~1 == storeMode {
    tryStore(input)
  } else if input[0] == rowMode {
    tryRow(Array(input.dropFirst()))
  } else if input[0] & 4 != 0 {
    tryPages(input)
  } else if input[0] & 2 == 0 {
    tryLog(input)
  } else {
    tryPayload(Array(input.dropFirst()))
  }
  return 0
}

let segmentName = "00000000000000000001.0.lz4"

func quiet(_ access: LogAccess, _ recovery: RecoveryMode = .tail) -> LogOptions {
  var options = LogOptions(access: access, recovery: recovery)
  options.logger.logLevel = .critical
  return options
}

func tryLog(_ input: [UInt8]) {
  var bytes = Array(input.dropFirst())
  if input[0] & 1 != 0 { ChecksumRepair.repairSegment(&bytes) }
  for recovery in [RecoveryMode.tail, .exact, .prefix] {
    for access in [LogAccess.readOnly, .readWrite] {
      let disk = MemoryFileSystem()
      try? disk.makeDirectory("log")
      disk.setContents(of: "log/\(segmentName)", to: bytes)
      if recovery == .tail, access == .readOnly {
        _ = verifyLog(directory: "log", fileSystem: disk)
        var end: UInt64 = 0
        try? dumpSegment(file: "log/\(segmentName)", fileSystem: disk) { piece in
          precondition(piece.offset == end, "pieces follow each other")
          end += piece.length
        }
        precondition(end == UInt64(bytes.count), "pieces cover the file")
      }
      use(disk, quiet(access, recovery))
    }
  }
}

/// Opens a log and reads all its contents.
func use(_ disk: MemoryFileSystem, _ options: LogOptions) {
  do {
    let log = try CommitLog(directory: "log", fileSystem: disk, options: options)
    let newest = log.completed
    do {
      try log.replay(from: 1, through: newest) { header, _ in
        for operation in 0..<min(header.operationCount, 4) {
          _ = try? log.value(commit: header.number, operation: operation, part: .object)
        }
        return true
      }
    } catch let error as TreeRingError {
      // After a repair the checksums match, but the LZ4 frames behind them may hold any bytes.
      precondition(error.code == .corruption, "\(error)")
    }
    _ = try? log.newest(atOrBefore: Timestamp(microseconds: 1_000_000))
    guard options.access != .readOnly else { return }
    let draft = CommitDraft(
      number: newest + 1, timestamp: Timestamp(microseconds: .max), operationCount: 1,
      payload: [1, 2, 3])
    try log.complete(log.append(draft))
    try log.close()
    let again = try CommitLog(directory: "log", fileSystem: disk, options: quiet(.readOnly, .exact))
    precondition(again.completed == newest + 1, "a commit was lost")
  } catch let error as TreeRingError {
    precondition([.corruption, .unsupportedFormat].contains(error.code), "\(error)")
  } catch {
    preconditionFailure("an untyped error: \(error)")
  }
}

/// Writes a few sound logs to begin from, each as an input with and without repair.
func writeCorpus(_ folder: String) {
  try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  for (name, commits, closes) in [("closed", 3, true), ("open", 3, false), ("long", 70, true)] {
    let disk = MemoryFileSystem()
    do {
      let log = try CommitLog(directory: "log", fileSystem: disk, options: quiet(.create))
      for number in 1...CommitNumber(commits) {
        let values =
          number % 2 == 0
          ? [LoggedValue(operation: 0, part: .object, bytes: Array(repeating: 97, count: 90))] : []
        try log.complete(
          log.append(
            CommitDraft(
              number: number, timestamp: Timestamp(microseconds: Int64(number)),
              operationCount: 1, payload: Array("commit \(number)".utf8), values: values)))
      }
      if closes { try log.close() }
    } catch { preconditionFailure("\(error)") }
    let bytes = disk.contents(of: "log/\(segmentName)") ?? []
    for mode in [0, 1] as [UInt8] {
      let path = "\(folder)/\(name)-\(mode)"
      guard FileManager.default.createFile(atPath: path, contents: Data([mode] + bytes)) else {
        preconditionFailure("cannot write \(path)")
      }
    }
  }
}
