// The small comforts: the version, suggestions, the manual page, columns of objects.

import ArgumentParser
import Foundation
import Testing

@testable import TreeRing
@testable import treering

@Suite struct PleasantTests {
  @Test("The tool's version is the newest of the changelog")
  func version() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../CHANGELOG.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.firstMatch(of: #/(?m)^## ([0-9.]+)/#)?.1 == TreeRingTool.version[...])
  }

  @Test("Edits are insertions, deletions, replacements and exchanges of neighbours")
  func distances() {
    for (first, second, distance) in [
      ("", "", 0), ("", "abc", 3), ("scan", "scan", 0), ("scna", "scan", 1), ("sca", "scan", 1),
      ("scann", "scan", 1), ("scen", "scan", 1), ("rows", "grops", 2), ("abcd", "dcba", 3),
    ] {
      #expect(Suggestion.distance(first, second) == distance, "\(first), \(second)")
      #expect(Suggestion.distance(second, first) == distance, "\(second), \(first)")
    }
  }

  @Test("A mistyped command is answered by the nearest ones, at any level")
  func suggestions() throws {
    func answer(_ arguments: String...) -> String? {
      do {
        try Suggestion.check(arguments)
        return nil
      } catch let failure as Failure {
        return failure.message
      } catch {
        return "\(error)"
      }
    }
    #expect(answer("scna", "s.ring")?.contains("Did you mean `treering scan`?") == true)
    #expect(answer("index", "ad")?.contains("Did you mean `treering index add`?") == true)
    #expect(answer("hist")?.contains("`treering history`") == true)
    #expect(answer("xyzzyx") == "`treering` has no command “xyzzyx”. See `treering --help`.")
    for arguments in [["scan", "scna"], ["--help"], ["help", "scan"], ["index", "add", "x"], []] {
      #expect(throws: Never.self) { try Suggestion.check(arguments) }
    }
  }

  @Test("The manual page has every command and no stray requests")
  func manual() {
    let page = ManualPage.text
    for command in TreeRingTool.configuration.subcommands {
      let name = command.configuration.commandName ?? ""
      #expect(page.contains(".SS treering \(name)"), "\(name)")
    }
    let requests = page.split(separator: "\n").filter { $0.hasPrefix(".") }.map {
      String($0.prefix { $0 != " " })
    }
    #expect(Set(requests) == [".TH", ".SH", ".SS", ".B", ".I", ".RI", ".BR", ".nf", ".fi"])
    #expect(ManualPage.escaped(".a\\b-c\n'd") == "\\&.a\\eb\\-c\n\\&'d")
  }

  private func heads(_ columns: ObjectColumns) -> [String] {
    columns.columns.map { $0.isRight ? $0.head + ">" : $0.head }
  }

  @Test("Every member that the samples have is a column; numbers stand to the right")
  func columns() throws {
    let samples = [
      #"{"b":1,"a":"x","n":null}"#, #"{"a":"two\nlines","c.d":[1, 2],"b":-2.5}"#, #"{"b":7,"b":8}"#,
    ].map { Array($0.utf8) }
    let columns = ObjectColumns(of: samples)
    #expect(heads(columns) == ["b>", "a", "n", "c.d"])
    #expect(columns.cells(of: samples[0]) == ["1", "x", "null", ""])
    #expect(columns.cells(of: samples[1]) == ["-2.5", #""two\nlines""#, "", "[1, 2]"])
    #expect(columns.cells(of: samples[2], absent: "-") == ["8", "-", "-", "-"])
    #expect(columns.cells(of: Array(#"{"a":"abcdefgh"}"#.utf8), limit: 5)[1] == "abcd…")
    #expect(!columns.omits(samples[1]) && columns.omits(Array(#"{"z":1}"#.utf8)))
    #expect(columns.omits(Array("17".utf8)))
  }

  @Test("Leading fields come first, also nested ones; other objects are shown whole")
  func leading() throws {
    let samples = [#"{"b":1,"a":{"x":"y"}}"#, "[1,2]"].map { Array($0.utf8) }
    let columns = ObjectColumns(
      of: samples, leading: [try .init("a.x"), try .init("none"), try .init("b")])
    #expect(heads(columns) == ["a.x", "b>", "a", "object"])
    #expect(columns.cells(of: samples[0]) == ["y", "1", #"{"x":"y"}"#, ""])
    #expect(columns.cells(of: samples[1]) == ["", "", "", "[1,2]"])
    let chosen = ObjectColumns([try .init("a.x"), try .init("c")], samples: samples)
    #expect(heads(chosen) == ["a.x", "c"])
    #expect(chosen.cells(of: samples[0]) == ["y", ""])
  }
}
