// The generated part of the page: facts of the sittings and a table for each family of lines.

internal import BenchmarkResults
internal import Foundation

private let start = "<!-- The part from here to the next marker is made by Tools/performance. -->"
private let end = "<!-- The end of the generated part. -->"

/// Replaces the text between the two markers.
/// - Throws: `ResultError` if the page lacks them.
func replaceGenerated(of page: String, with text: String) throws -> String {
  guard let from = page.range(of: start),
    let to = page.range(of: end, range: from.upperBound..<page.endIndex)
  else {
    throw ResultError("performance.md lacks the two lines “\(start)” and “\(end)”")
  }
  return page[..<from.upperBound] + "\n\n" + text + "\n" + page[to.lowerBound...]
}

/// All tables, with the pictures of the families by name.
func tables(of results: ResultFile, pictures: [String: String]) -> String {
  let sittings = sittings(of: results)
  var text = facts(of: results, sittings)
  for family in Family.all {
    let lines = family.lines(of: results)
    if lines.isEmpty { continue }
    text += "\n### \(family.title)\n\n" + table(of: lines, sittings)
    if let picture = pictures[family.name] {
      text += "\n![\(family.title): the figures of the table as a picture](\(picture))\n"
    }
    for line in lines {
      for (engine, reason) in line.failures.sorted(by: { $0.key < $1.key }) {
        text += "\n\(engine) failed in “\(line.name)”: \(escape(reason))\n"
      }
    }
  }
  return text
}

private let factNames = ["day", "commit", "machine", "system", "compiler", "peers", "command"]

/// The sittings of all lines, oldest first.
private func sittings(of results: ResultFile) -> [Sitting] {
  func order(_ sitting: Sitting) -> [String] { factNames.map { sitting[$0] ?? "" } }
  return Set(results.lines.compactMap(\.sitting))
    .sorted { order($0).lexicographicallyPrecedes(order($1)) }
}

/// The facts that all sittings share, then a row for each sitting with its other facts.
private func facts(of results: ResultFile, _ sittings: [Sitting]) -> String {
  var text = "| | |\n|---|---|\n"
  let names = factNames + Set(sittings.flatMap(\.keys)).subtracting(factNames).sorted()
  func isShared(_ name: String) -> Bool { Set(sittings.map { $0[name] }).count == 1 }
  for name in names where isShared(name) {
    if let value = sittings.first?[name] { text += row([name, escape(value)]) }
  }
  text += row(["size", results.size])
  if sittings.count < 2 { return text }
  for (number, sitting) in sittings.enumerated() {
    let own = names.filter { !isShared($0) }
      .map { "\($0): \(sitting[$0].map(escape) ?? "unknown")" }
    text += row(["sitting \(number + 1)", own.joined(separator: "; ")])
  }
  return text
}

/// - Parameter sittings: all sittings of the page; with several, a column names that of each line.
private func table(of lines: [Line], _ sittings: [Sitting]) -> String {
  let engines = engines(of: lines)
  let hasPeers = engines.count > 1
  let compared = hasPeers ? ["× best peer", "loop without engine"] : []
  let head = ["line", "unit"] + engines + compared + (sittings.count > 1 ? ["sitting"] : [])
  var text = row(head) + row(head.map { _ in "---" })
  for line in lines {
    let isLost = line.isLost == true
    var cells = [escape(line.fullName), line.unit]
    for engine in engines {
      let cell = cell(of: line, engine)
      cells.append(isLost && engine == EngineName.own ? "**\(cell)**" : cell)
    }
    if hasPeers {
      let advantage = line.advantage.map(format) ?? "–"
      cells.append(isLost ? "**\(advantage)**" : advantage)
      cells.append(line.emptyShare.map { String(format: "%.0f %%", $0 * 100) } ?? "–")
    }
    if sittings.count > 1 {
      let place = line.sitting.flatMap(sittings.firstIndex)
      cells.append(place.map { "\($0 + 1)" } ?? "–")
    }
    text += row(cells)
  }
  return text
}

private func cell(of line: Line, _ engine: String) -> String {
  if line.failures[engine] != nil { return "failed" }
  return line.median(engine).map(format) ?? "–"
}

private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |\n" }

private func escape(_ text: String) -> String {
  text.replacing("|", with: "\\|").replacing("\n", with: " ")
}

extension Line {
  /// The name with its remark, the rates of bare syncs, its limits, and a word if the
  /// figures are no medians.
  var fullName: String {
    let loop = Line.median(syncLoop).map { "bare sync loop \(format($0))" }
    let shared = sharedSyncLoop.flatMap(Line.median).map {
      "shared by as many threads \(format($0))"
    }
    let isSingle = samples.values.allSatisfy { $0.count == 1 }
    let additions = [remark, loop, shared, limits, isSingle ? "one sample" : nil].compactMap { $0 }
    return additions.isEmpty ? name : "\(name) (\(additions.joined(separator: ", ")))"
  }
}
