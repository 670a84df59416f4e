// Checks that the code in documents has been compiled and run. Every Swift block of a page is the
// shown part of a snippet, and every shown part is on a page. Snippets contain the samples of doc
// comments line by line. Tools/snippets runs them.

import Foundation
import Testing

@Suite struct DocumentationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private func files(in folder: String, _ suffix: String) throws -> [URL] {
    let base = Self.root.appending(path: folder)
    return try FileManager.default.subpathsOfDirectory(atPath: base.path)
      .filter { $0.hasSuffix(suffix) }.sorted().map { base.appending(path: $0) }
  }

  /// The shown part of a snippet: the lines between the marks, without their common indent.
  private func shown(_ snippet: String) -> String {
    var lines: [Substring] = []
    var isShown = false
    for line in snippet.split(separator: "\n", omittingEmptySubsequences: false) {
      switch line.trimmingCharacters(in: .whitespaces) {
      case "// snippet.show": isShown = true
      case "// snippet.hide": isShown = false
      default: if isShown { lines.append(line) }
      }
    }
    let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
    let indent = indents.min() ?? 0
    return lines.map { $0.dropFirst(indent) }.joined(separator: "\n")
      .trimmingCharacters(in: .newlines)
  }

  /// The Swift blocks of a page.
  private func blocks(_ page: String) -> [String] {
    page.components(separatedBy: "```swift\n").dropFirst().map {
      ($0.components(separatedBy: "```").first ?? "").trimmingCharacters(in: .newlines)
    }
  }

  @Test("Every Swift block of a page is a snippet, and every snippet is on a page")
  func pagesShowSnippets() throws {
    // The reference shows declarations, and samples of comments, which have a test of their own.
    let pages =
      try [Self.root.appending(path: "README.md")]
      + files(in: "docs", ".md").filter { !$0.path.contains("/reference/") }
      + files(in: "Sources", ".md").filter { $0.path.contains(".docc/") }
    var unseen: [String: String] = [:]
    for file in try files(in: "Snippets", ".swift") {
      let part = shown(try String(contentsOf: file, encoding: .utf8))
      if !part.isEmpty { unseen[part] = file.lastPathComponent }
    }
    let snippets = Set(unseen.keys)
    #expect(!snippets.isEmpty)
    for page in pages {
      for block in blocks(try String(contentsOf: page, encoding: .utf8)) {
        #expect(snippets.contains(block), "\(page.lastPathComponent) shows what no snippet runs")
        unseen[block] = nil
      }
    }
    #expect(unseen.isEmpty, "no page shows these")
  }

  /// A line without its indent.
  private func trimmed(_ line: some StringProtocol) -> String {
    line.trimmingCharacters(in: .whitespaces)
  }

  /// The samples of doc comments: indented by four after an empty line, split at omissions.
  private func samples(_ source: String) -> [[String]] {
    var samples: [[String]] = []
    var isSample = false
    var isEmpty = false
    for line in source.components(separatedBy: "\n").map({ trimmed($0) }) {
      let text = line.hasPrefix("///") ? line.dropFirst(3) : nil
      let begins = isEmpty && text?.hasPrefix("     ") == true
      if let text, begins || (isSample && text.hasPrefix("     ")) {
        if begins || trimmed(text) == "…" { samples.append([]) }
        if trimmed(text) != "…" { samples[samples.count - 1].append(trimmed(text)) }
        isSample = true
      } else {
        isSample = false
      }
      isEmpty = text.map { trimmed($0).isEmpty } ?? false
    }
    return samples.filter { !$0.isEmpty }
  }

  @Test("Every sample of a doc comment stands in a snippet")
  func commentsShowSnippets() throws {
    var programs: [String] = []
    for file in try files(in: "Snippets", ".swift") {
      let program = try String(contentsOf: file, encoding: .utf8)
      for text in [program, shown(program)] {
        let lines = text.components(separatedBy: "\n").map { trimmed($0) }
        programs.append("\n" + lines.joined(separator: "\n") + "\n")
      }
    }
    var count = 0
    for file in try files(in: "Sources", ".swift") {
      for sample in samples(try String(contentsOf: file, encoding: .utf8)) {
        let lines = "\n" + sample.joined(separator: "\n") + "\n"
        #expect(
          programs.contains { $0.contains(lines) },
          "\(file.lastPathComponent) shows what no snippet runs: \(sample)")
        count += 1
      }
    }
    #expect(count > 15)
  }
}
