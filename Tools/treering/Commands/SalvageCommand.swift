// `treering salvage`: everything still readable of a damaged store, as a new store.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingLog

struct SalvageCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copies every readable commit of a damaged store into a new one.",
    discussion: """
      The damaged store is not changed. Commits keep their numbers; lost ones have no operations and a \
      note in the new store. Lists what was lost; exit code 1 if anything was.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The folder of the new store.") var out: String

  func run(_ output: Output) throws {
    guard FileManager.default.fileExists(atPath: arguments.store + "/log") else {
      throw Failure(.noInput, "There is no store at \(arguments.store). Check the path.")
    }
    let work = CopyWork("Salvaging")
    let report = try work.run {
      try Store.salvage(from: arguments.store, to: out) { work.goOn($0) }
    }
    _ = work.finish()
    for part in report.damage { try show(part, output) }
    for (file, reason) in report.ignoredFiles.sorted(by: { $0.key < $1.key }) {
      try show(file: file, reason, output)
    }
    for range in report.lostCommits { try show(lost: range, output) }
    for finding in report.findings { try show(finding, output) }
    let lost = report.lostCommits.reduce(0) { $0 + $1.count }
    if output.isJSON {
      try output.object {
        $0.number("commits", report.commitCount)
        $0.number("last", report.lastCommit)
        $0.number("lost", lost)
        $0.number("leftOut", report.findings.count { $0.wasLeftOut })
      }
    } else {
      try output.line(
        "Salvaged \(Units.count(report.commitCount, "commit")) to \(out); "
          + (report.isComplete ? "nothing was lost." : "\(Units.count(lost, "commit")) lost."))
    }
    if !report.isComplete { throw Failure(.no) }
  }

  private func show(_ part: LostPart, _ output: Output) throws {
    guard output.isJSON else {
      let range = part.commits.map { ", commits \($0.lowerBound) to \($0.upperBound)" } ?? ""
      return try output.line(
        "\(part.file), offset \(part.offset), \(part.byteCount) bytes\(range): \(part.problem)")
    }
    try output.object {
      $0.text("file", part.file)
      $0.number("offset", part.offset)
      $0.number("length", part.byteCount)
      if let commits = part.commits {
        $0.raw("commits", "[\(commits.lowerBound),\(commits.upperBound)]")
      }
      $0.text("problem", part.problem)
    }
  }

  private func show(file: String, _ reason: String, _ output: Output) throws {
    guard output.isJSON else { return try output.line("\(file): passed over, \(reason)") }
    try output.object {
      $0.text("file", file)
      $0.text("ignored", reason)
    }
  }

  private func show(lost range: ClosedRange<CommitNumber>, _ output: Output) throws {
    guard output.isJSON else {
      return try output.line(
        range.count == 1
          ? "Commit \(range.lowerBound) is lost."
          : "Commits \(range.lowerBound) to \(range.upperBound) are lost.")
    }
    try output.object { $0.raw("lost", "[\(range.lowerBound),\(range.upperBound)]") }
  }

  private func show(_ finding: SalvageFinding, _ output: Output) throws {
    guard output.isJSON else {
      let row = finding.row.map { " on \($0.bucket)/\(JSONText.shown(key: $0.key.bytes))" } ?? ""
      return try output.line(
        "Commit \(finding.commit), operation \(finding.operation)\(row)"
          + (finding.wasLeftOut ? " was left out: " : " is doubtful: ") + finding.problem)
    }
    try output.object {
      $0.number("commit", finding.commit)
      $0.number("operation", finding.operation)
      if let row = finding.row {
        $0.text("bucket", row.bucket)
        $0.key("key", row.key.bytes)
      }
      $0.bool("leftOut", finding.wasLeftOut)
      $0.text("problem", finding.problem)
    }
  }
}
