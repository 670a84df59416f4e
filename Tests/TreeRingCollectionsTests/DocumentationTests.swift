// Code in documents is code that was compiled and run: every Swift block of a page is the shown part of a
// snippet, and every snippet is on a page. Tools/snippets runs them.

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

  /// What a snippet shows: the lines between the marks.
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
    return lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
  }

  /// The Swift blocks of a page.
  private func blocks(_ page: String) -> [String] {
    page.components(separatedBy: "```swift\n").dropFirst().map {
      ($0.components(separatedBy: "```").first ?? "").trimmingCharacters(in: .newlines)
    }
  }

  @Test("Every Swift block of a page is a snippet, and every snippet is on a page")
  func pagesShowWhatRuns() throws {
    let pages =
      try [Self.root.appending(path: "README.md")] + files(in: "docs", ".md")
      + files(in: "Sources", ".md").filter { $0.path.contains(".docc/") }
    var unseen: [String: String] = [:]
    for file in try files(in: "Snippets", ".swift") {
      unseen[shown(try String(contentsOf: file, encoding: .utf8))] = file.lastPathComponent
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
}
