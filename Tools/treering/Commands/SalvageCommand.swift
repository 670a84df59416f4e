// `treering salvage`: copies every readable commit of a damaged store into a new store.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct SalvageCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copies every readable commit of a damaged store into a new one.",
    discussion: """
      The damaged store is not changed. Commits keep their numbers; lost ones have no operations \
      and a note in the new store. Lists the losses, and the reasons why more may be lost: the log \
      of a store that was not closed does not record its end. Exit code 1 unless it is certain \
      that nothing was lost.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The folder of the new store.", transform: NegativeNumber.shown)
  var out: String

  func run(_ output: Output) throws {
    try StoreAccess.checkExists(arguments.store, "Check the path.")
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
    for doubt in report.doubts { try show(doubt, output) }
    if output.isJSON {
      try output.object {
        $0.number("commits", report.commitCount)
        $0.number("last", report.lastCommit)
        $0.number("lost", report.lostCommitCount)
        $0.number("leftOut", report.findings.count { $0.wasLeftOut })
        $0.bool("certain", report.doubts.isEmpty)
        if report.horizon > 0 { $0.number("horizon", report.horizon) }
      }
    } else {
      try output.line(
        "Salvaged \(Units.count(report.commitCount, "commit")) to \(out); "
          + outcome(report))
      if report.horizon > 0 {
        try output.line("It can be read from commit \(report.horizon) on.")
      }
    }
    if !report.isComplete { throw Failure(.no) }
  }

  private func outcome(_ report: SalvageReport) -> String {
    if report.isComplete { return "nothing was lost." }
    var parts: [String] = []
    if report.lostCommitCount > 0 {
      parts.append("\(Units.count(report.lostCommitCount, "commit")) lost")
    }
    if !report.findings.isEmpty {
      parts.append("\(Units.count(report.findings.count, "operation")) changed or left out")
    }
    if !report.doubts.isEmpty { parts.append("more may be lost") }
    return parts.joined(separator: ", ") + "."
  }

  private func show(_ doubt: LogDoubt, _ output: Output) throws {
    guard output.isJSON else { return try output.line("\(doubt.file): \(doubt.problem)") }
    try output.object {
      $0.text("file", doubt.file)
      $0.text("doubt", doubt.problem)
    }
  }

  private func show(_ part: DamagedRange, _ output: Output) throws {
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
    guard output.isJSON else { return try output.line("\(file): ignored, \(reason)") }
    try output.object {
      $0.text("file", file)
      $0.text("ignored", reason)
    }
  }

  private func show(lost range: ClosedRange<CommitNumber>, _ output: Output) throws {
    guard output.isJSON else {
      return try output.line(
        range.lowerBound == range.upperBound
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
