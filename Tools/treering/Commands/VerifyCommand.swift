// `treering verify`: checks a store and changes nothing.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct VerifyCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a store and changes nothing; exit code 1 if there is damage.",
    discussion: """
      Checks checksums, the chain of commits and the invariants of the trees; with --deep also \
      every index against the rows, and the trees against the log.
      """)

  @OptionGroup var arguments: StoreArguments
  @Flag(help: "Also compare indexes with rows, and trees with the log.") var deep = false

  func run(_ output: Output) throws {
    try StoreAccess.checkExists(arguments.store, "Check the path.")
    let report = try verified()
    for finding in report.findings { try print(finding, output) }
    guard report.findings.isEmpty else {
      let count = Units.count(report.findings.count, "problem")
      throw Failure(.no, output.isJSON ? "" : "Found \(count); nothing was changed.")
    }
    if report.isPartial {
      output.notice(
        "Earlier states in the page file were not checked: the store is written too fast."
      )
    }
    if !output.isJSON {
      try output.line("The store is sound; its last commit is \(report.newestCommit).")
    }
  }

  private func verified() throws -> VerificationReport {
    let bar = ProgressBar("Checking", total: nil)
    defer { bar.finish() }
    return try checked {
      var report = try Store.verify(arguments.store, comparesIndexes: deep) {
        bar.update(
          done: $0.doneByteCount, of: $0.byteCount, count: $0.doneByteCount >> 20, unit: "MiB")
      } opening: {
        bar.finish()
        return try StoreAccess.open(arguments.store, .readOnly)
      }
      guard deep, report.findings.isEmpty else { return report }
      do {
        let differences = try WholeHistory.reading(arguments.store) {
          try Replayer.differences(in: $0, at: arguments.store, commit: $0.newestCommit)
        }
        report.findings = differences.map {
          StoreFinding(file: arguments.store, offset: 0, problem: $0)
        }
      } catch let error as TreeRingError {
        try report.add(error, of: arguments.store)
      }
      return report
    }
  }

  /// Calls `body`. An error that is no finding must not end the program with the exit code 1, which
  /// means damage.
  func checked(_ body: () throws -> VerificationReport) throws -> VerificationReport {
    do {
      return try body()
    } catch let error as TreeRingError {
      let failure = Failure(error)
      throw failure.status == .no ? Failure(.io, failure.message) : failure
    }
  }

  private func print(_ finding: StoreFinding, _ output: Output) throws {
    guard output.isJSON else {
      let commit = finding.commit.map { ", commit \($0)" } ?? ""
      return try output.line(
        "\(finding.file), offset \(finding.offset)\(commit): \(finding.problem)")
    }
    try output.object {
      $0.text("file", finding.file)
      $0.number("offset", finding.offset)
      if let commit = finding.commit { $0.number("commit", commit) }
      $0.text("problem", finding.problem)
    }
  }
}
