// Checks the table of properties in docs/testing.md and the deliberate mistakes of Tests/Mistakes:
// the tests that they name exist.

import Foundation
import Testing

@Suite struct PropertyTableTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The texts of all files of a folder under Tests with this extension.
  private static func texts(in folder: String, _ type: String) throws -> [String] {
    let folder = root.appending(path: "Tests/\(folder)")
    return try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(type) }
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
  }

  @Test("Each of the twelve properties is stated, and the tests and commands it names exist")
  func properties() throws {
    let page = try String(
      contentsOf: Self.root.appending(path: "docs/testing.md"), encoding: .utf8)
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| P") }
    let names = rows.compactMap { $0.dropFirst(2).split(separator: " ").first.map(String.init) }
    #expect(names == (1...12).map { "P\($0)" })
    let sources = try Self.texts(in: "TreeRingMappingsTests", ".swift")
    for row in rows {
      let tests = row.matches(of: #/`(\w+)\.(\w+)`/#)
      let commands = row.matches(of: #/`(Tools/\w+)`/#)
      #expect(tests.count + commands.count > 0, "\(row)")
      for test in tests {
        let isThere = sources.contains {
          $0.contains("struct \(test.1)") && $0.contains("func \(test.2)(")
        }
        #expect(isThere, "there is no \(test.0)")
      }
      for command in commands {
        let path = Self.root.appending(path: String(command.1)).path
        #expect(FileManager.default.isExecutableFile(atPath: path), "there is no \(path)")
      }
    }
  }

  @Test("Each deliberate mistake names an existing test, and each property catches one")
  func mistakes() throws {
    let patches = try Self.texts(in: "Mistakes", ".patch")
    var violated: Set<String> = []
    for patch in patches {
      let test = try #require(patch.firstMatch(of: #/\nTest: (\w+)\.(\w+)/(\w+)\n/#), "\(patch)")
      let isThere = try Self.texts(in: String(test.1), ".swift").contains {
        $0.contains("struct \(test.2)") && $0.contains("func \(test.3)(")
      }
      #expect(isThere, "there is no \(test.0)")
      if let property = patch.firstMatch(of: #/\nViolates: (\w+)\n/#) {
        #expect(Property(rawValue: String(property.1)) != nil, "there is no \(property.1)")
        violated.insert(String(property.1))
      }
    }
    // A wrong number of steps, or a wrong state before the change, has no step of its own.
    let uncaught = Set(Property.allCases.map(\.rawValue)).subtracting(violated)
    #expect(uncaught == ["stepCount", "before"])
  }
}
