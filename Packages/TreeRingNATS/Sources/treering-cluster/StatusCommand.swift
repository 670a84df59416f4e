// `status`: the log and its replicas.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingNATS
import TreeRingReplication

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows the log, and the replicas that run.")

  @OptionGroup var log: LogArguments
  @Flag(help: "Print JSON.")
  var json = false

  private struct Answer: Encodable {
    var stream: String
    var first: UInt64
    var last: UInt64
    var replicas: [ReplicaReport]
  }

  func run() throws {
    let options = log.options
    let ends = try JetStreamLog(options).ends(within: .seconds(10))
    let reports = try ReplicaRegistry(options).reports()
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let answer = Answer(
        stream: options.stream, first: ends.first, last: ends.last, replicas: reports)
      print(String(decoding: try encoder.encode(answer), as: UTF8.self))
      return
    }
    print("log \(options.stream): entries \(ends.first) to \(ends.last)")
    let header = ["replica", "host", "role", "commit", "entry", "behind", "problem"]
    let rows = reports.map { report in
      let behind = ends.last > report.sequence ? ends.last - report.sequence : 0
      return [
        report.name, report.host, report.isLeading ? "leads" : "follows", "\(report.commit)",
        "\(report.sequence)", "\(behind)", report.problem ?? "",
      ]
    }
    for row in [header] + rows { print(Self.line(row, widths: widths(of: [header] + rows))) }
    if rows.isEmpty { print("no replica has reported itself within ten seconds") }
  }

  private func widths(of rows: [[String]]) -> [Int] {
    rows.reduce(into: rows[0].map { _ in 0 }) { widths, row in
      for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) }
    }
  }

  private static func line(_ cells: [String], widths: [Int]) -> String {
    var line = zip(cells, widths).map { cell, width in
      cell + String(repeating: " ", count: width - cell.count)
    }.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line
  }
}
