// `treering erase`: removes a row and every byte of its history.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct EraseCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase",
    abstract: "Deletes a row and every byte of its history, and proves it by a scan.",
    discussion: """
      Commit numbers stay; the operations on the row become stubs. Notes, annotations, tags and \
      other rows are not changed, even if they contain the key; the scan counts the commits where \
      they do. Earlier backups hold the row until they are refreshed.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The row's bucket.", transform: NegativeNumber.shown)
  var bucket: String
  @Argument(help: "The row's key.", transform: NegativeNumber.shown)
  var key: String

  func run(_ output: Output) throws {
    let store = try openForWriting()
    let report = try erase(from: store)
    try store.close()
    if output.isJSON {
      try output.object {
        if let commit = report.deleted { $0.number("commit", commit) } else { $0.null("commit") }
        $0.number("operations", report.operations)
        $0.number("segments", report.rewrittenSegments)
        $0.number("scannedBytes", report.scannedByteCount)
        $0.number("scannedValues", report.scannedValues)
        $0.bool("searchedPageFile", report.searchedPageFile)
        $0.number("mentions", report.mentioningCommitCount)
      }
    } else {
      let pages =
        report.searchedPageFile
        ? ", every tree, and the page file byte by byte" : " and every tree"
      try output.line(
        "Erased \(Units.count(report.operations, "operation")) from "
          + "\(Units.count(report.rewrittenSegments, "segment")). A scan of "
          + "\(Units.bytes(report.scannedByteCount)) found nothing left of the row. It covered "
          + "every payload, \(Units.count(report.scannedValues, "logged value"))\(pages).")
      if report.mentioningCommitCount > 0 {
        try output.line(
          "The bytes of the key are also part of other rows or texts in "
            + "\(Units.count(report.mentioningCommitCount, "commit")); these were not changed.")
      }
      try output.line("Earlier backups hold the row until they are refreshed.")
    }
  }

  private func erase(from store: Store) throws -> EraseReport {
    let progress = ProgressBar("Erasing", total: 1000)
    defer { progress.finish() }
    do {
      return try store.erase(try Typed.key(key), in: bucket) { done in
        let part = Double(done.doneByteCount) / Double(max(1, done.totalByteCount))
        progress.update(done: UInt64(part * 1000), count: done.doneByteCount >> 20, unit: "MB")
      }
    } catch let error as TreeRingError where error.code == .notAllowed && error.file == nil {
      // No file is in the way, so another process is: this one has no other readers.
      throw Failure(.locked, error.description)
    }
  }
}
