// `treering frames`: the contents of a segment file, sound or damaged.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct FramesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "frames",
    abstract: "Dumps a segment of a log, reading past damage; exit code 1 if there is any.")

  @Argument(help: "The segment file.", transform: NegativeNumber.shown)
  var file: String
  @Flag(help: "Print one JSON object per line.") var json = false

  func run() throws {
    guard try PosixFileSystem().exists(file) else {
      throw Failure(.noInput, "There is no file \(file).")
    }
    let output = Output(isJSON: json)
    let table = Table(
      output,
      [
        .right("offset"), .right("length"), .right("commit"), .right("checksum"), .left("state"),
        .left("problem"),
      ])
    var failure: (any Error)?
    var isDamaged = false
    try dumpSegment(file: file, fileSystem: PosixFileSystem()) { frame in
      isDamaged = isDamaged || frame.problem != nil
      do { try print(frame, output, table) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
    try table.finish()
    try output.flush()
    if isDamaged { throw Failure(.no) }
  }

  private func print(_ frame: FrameDescription, _ output: Output, _ table: Table) throws {
    let checksum = frame.checksum.map { sum in
      let digits = String(sum, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }
    guard output.isJSON else {
      return try table.row(
        "\(frame.offset)", "\(frame.length)", frame.commit.map { "\($0)" } ?? "",
        checksum ?? "", frame.state.rawValue, frame.problem ?? "")
    }
    try output.object {
      $0.number("offset", frame.offset)
      $0.number("length", frame.length)
      if let commit = frame.commit { $0.number("commit", commit) } else { $0.null("commit") }
      if let checksum { $0.text("checksum", checksum) }
      $0.text("state", frame.state.rawValue)
      if let problem = frame.problem { $0.text("problem", problem) }
    }
  }
}
