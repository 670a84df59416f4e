// The generated part of the page: facts of the machine and a table for each family of lines.

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
  var text = "| | |\n|---|---|\n"
  for fact in results.facts where fact.name != "day" && fact.name != "commit" {
    text += "| \(fact.name) | \(escape(fact.value)) |\n"
  }
  text += "| size | \(results.size) |\n"
  text += "| measured | \(sittings(of: results).joined(separator: "; ")) |\n"
  for family in Family.all {
    let lines = family.lines(of: results)
    if lines.isEmpty { continue }
    text += "\n### \(family.title)\n\n" + table(of: lines)
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

/// The days and commits of the measurements, oldest first.
private func sittings(of results: ResultFile) -> [String] {
  let all = results.lines.compactMap { line -> String? in
    guard let day = line.day else { return nil }
    return line.commit.map { "\(day), commit \($0)" } ?? day
  }
  return Set(all).sorted()
}

private func table(of lines: [Line]) -> String {
  let engines = engines(of: lines)
  let hasPeers = engines.count > 1
  let compared = hasPeers ? ["× best peer", "benchmark's own"] : []
  var text = row(["line", "unit"] + engines + compared)
  text += row(Array(repeating: "---", count: 2 + engines.count + compared.count))
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
      cells.append(line.benchmarkShare.map { String(format: "%.0f %%", $0 * 100) } ?? "–")
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
  /// The name with its remark and the rate of bare syncs.
  var fullName: String {
    let loop = Line.median(syncLoop).map { "bare sync loop \(format($0))" }
    let additions = [remark, loop].compactMap { $0 }
    return additions.isEmpty ? name : "\(name) (\(additions.joined(separator: ", ")))"
  }
}
