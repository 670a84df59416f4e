// Checks that the tests named in the table of properties in docs/testing.md exist.

import Foundation
import Testing

@Suite struct PropertyTableTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every test file of the module as text.
  private func sources() throws -> [String] {
    let folder = Self.root.appending(path: "Tests/TreeRingMappingsTests")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
  }

  @Test("Each of the twelve properties is stated, and the tests it names exist")
  func properties() throws {
    let page = try String(
      contentsOf: Self.root.appending(path: "docs/testing.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| P") }
    let names = rows.compactMap { $0.dropFirst(2).split(separator: " ").first.map(String.init) }
    #expect(names == (1...12).map { "P\($0)" })
    let sources = try sources()
    for row in rows {
      let tests = row.matches(of: #/`(\w+)\.(\w+)`/#)
      #expect(!tests.isEmpty, "\(row)")
      for test in tests {
        let isThere = sources.contains {
          $0.contains("struct \(test.1)") && $0.contains("func \(test.2)(")
        }
        #expect(isThere, "there is no \(test.0)")
      }
    }
  }
}
