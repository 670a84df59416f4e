// `treering stats`: sizes and counts of a store.

import ArgumentParser
import TreeRing
import TreeRingLive

struct StatsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Prints sizes and counts of a store.")

  @OptionGroup var arguments: StoreArguments

  func run(_ output: Output) throws {
    let statistics = try openForReading().statistics()
    if output.isJSON {
      try output.object { $0.statistics(statistics) }
      return
    }
    let table = Table(output, [.left("what"), .right("value")])
    try table.row("commits", "\(statistics.commits)")
    try table.row("oldest readable commit", "\(statistics.horizon)")
    try table.row("rows", "\(statistics.rows)")
    try table.row("tombstones", "\(statistics.tombstones)")
    try table.row("log", Units.bytes(statistics.logByteCount))
    try table.row("segments", "\(statistics.segmentCount)")
    try table.row("payloads before compression", Units.bytes(statistics.payloadByteCount))
    try table.row("compression ratio", ratio(statistics.compressionRatio))
    try table.row("pages of 4 KiB", "\(statistics.pageCount)")
    try table.row("fill of a page, about", "\(Int((statistics.pageFill * 100).rounded())) %")
    if statistics.pageFileByteCount > 0 {
      try table.row("page file", Units.bytes(statistics.pageFileByteCount))
      try table.row("earlier states kept", "\(statistics.retainedRootCount)")
      try table.row("pages kept for them", "\(statistics.retainedPageCount)")
      try table.row("operations to replay, at most", "\(statistics.widestReplay)")
    }
    try table.row("pages kept for snapshots", "\(statistics.pinnedPageCount)")
    try table.row("memory of pages", Units.bytes(statistics.pageMemoryByteCount))
    try table.row("reclaimable by compaction, about", Units.bytes(statistics.reclaimableByteCount))
    for holding in statistics.held {
      try table.row("history from \(holding.commit) on is held by", holding.description)
    }
    try table.finish()
  }

  private func ratio(_ value: Double) -> String {
    let tenths = Int((value * 100).rounded())
    return "\(tenths / 100).\(tenths % 100 < 10 ? "0" : "")\(tenths % 100)"
  }
}
