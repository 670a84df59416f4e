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
    let files = try checkFiles()
    var findings = files.findings
    var commits: CommitNumber = 0
    if findings.isEmpty {
      do {
        (commits, findings) = try WholeHistory.reading(arguments.store) {
          ($0.newestCommit, try check($0))
        }
      } catch let error as TreeRingError {
        findings.append(try finding(error))
      }
    }
    for finding in findings { try report(finding, output) }
    guard findings.isEmpty else {
      throw Failure(
        .no,
        output.isJSON ? "" : "Found \(Units.count(findings.count, "problem")); nothing was changed."
      )
    }
    if files.isPartial {
      output.notice(
        "Earlier states in the page file were not checked: the store is written too fast."
      )
    }
    if !output.isJSON { try output.line("The store is sound; its last commit is \(commits).") }
  }

  private func checkFiles() throws -> StoreFilesCheck {
    let bar = ProgressBar("Checking", total: nil)
    defer { bar.finish() }
    return try StoreFilesCheck(of: arguments.store, fileSystem: PosixFileSystem()) {
      bar.update(
        done: $0.doneByteCount, of: $0.byteCount, count: $0.doneByteCount >> 20, unit: "MiB")
    }
  }

  /// The problems of a store that can be opened.
  /// - Throws: `beyondHorizon` if another process compacts the store during the check.
  private func check(_ store: Store) throws -> [LogFinding] {
    var problems = try store.checkInvariants(comparesIndexes: deep)
    if deep {
      problems += try Replayer.differences(
        in: store, at: arguments.store, commit: store.newestCommit)
    }
    return problems.map { LogFinding(file: arguments.store, offset: 0, problem: $0) }
  }

  /// An error as a finding. This includes errors about input: the only input here is the store.
  /// - Throws: the error's failure if the error does not stand for damage.
  func finding(_ error: TreeRingError) throws -> LogFinding {
    guard Self.damage.contains(error.code) else {
      let failure = Failure(error)
      // Exit code 1 would mean damage.
      throw failure.status == .no ? Failure(.io, failure.message) : failure
    }
    return LogFinding(
      file: error.file ?? arguments.store, offset: error.offset ?? 0, commit: error.commit,
      problem: error.message)
  }

  private static let damage: Set<TreeRingError.Code> = [
    .corruption, .notAStore, .logBehindPages, .invalidInput, .tooLarge, .conflict, .alreadyExists,
  ]

  private func report(_ finding: LogFinding, _ output: Output) throws {
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
