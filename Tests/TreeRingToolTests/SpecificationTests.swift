import ArgumentParser
import Foundation
import Testing
import TreeRingLive

@testable import TreeRingMappings
@testable import treering

@Suite struct SpecificationTests {
  @Test("Ranges are read in all their forms")
  func ranges() throws {
    var range = RangeSpecification()
    range.length = 20
    #expect(try RangeSpecification.parse("fixed:20") == range)
    range.offset = 5
    #expect(try RangeSpecification.parse("fixed:20:5") == range)
    #expect(try RangeSpecification.parse("fixed:20:5:begin") == range)
    range.isPinnedToEnd = true
    #expect(try RangeSpecification.parse("fixed:20:5:end") == range)
    range.isFlexible = true
    range.minimum = 3
    range.maximum = 40
    range.grow = .both
    #expect(try RangeSpecification.parse("flexible:20:5:end:min=3:max=40:grow=both") == range)
    #expect(try RangeSpecification.parse("flexible:20:5:end:grow=both:max=40:min=3") == range)
    #expect(
      try RangeSpecification.parse("flexible:7:grow=none").grow == RangeSpecification.Grow.none)
  }

  @Test(
    "What is no range is refused",
    arguments: [
      "", "20", "fixed", "fixed:", "fixed:x", "fixed:-1", "fixed:+1", "fixed:1:", "fixed:1:2:top",
      "fixed:1:min=2", "flexible:1:min=", "flexible:1:min=2:min=3", "flexible:1:grow=up",
      "flexible:1:size=2", "fixed:1:2:end:3", "float:1",
    ])
  func malformedRanges(_ text: String) {
    #expect(throws: (any Error).self) { try RangeSpecification.parse(text) }
  }

  @Test("A group's range follows the last equals sign that a range follows")
  func groupRanges() throws {
    #expect(try GroupRange.parse("JFK=fixed:3").group == "JFK")
    #expect(try GroupRange.parse("a=b=fixed:3").group == "a=b")
    #expect(try GroupRange.parse("=fixed:1=fixed:3").range.length == 3)
    #expect(throws: (any Error).self) { try GroupRange.parse("JFK") }
    #expect(throws: (any Error).self) { try GroupRange.parse("JFK=20") }
  }

  @Test("A range shows its window, clipped to the group")
  func windows() throws {
    let range = try RangeSpecification.parse("fixed:3:2")
    #expect(range.options.positions(ofCount: 10) == 2..<5)
    #expect(range.options.positions(ofCount: 4) == 2..<4)
    #expect(range.options.positions(ofCount: 1) == 1..<1)
    #expect(try RangeSpecification.parse("fixed:3:2:end").options.positions(ofCount: 10) == 5..<8)
  }

  @Test("Every textual argument arrives byte by byte, even one that begins like a negative number")
  func negativeNumbers() throws {
    for argument in ["-", "--at", "-a", "5"] {
      #expect(NegativeNumber.hidden(argument) == argument)
    }
    for argument in ["-5", "-5a", "-1.5", "\u{1A}-5", "\u{1A}", "-5\u{301}", "é", "e\u{301}", ""] {
      let shown = NegativeNumber.shown(NegativeNumber.hidden(argument))
      #expect(shown.utf8.elementsEqual(argument.utf8))
      // The form with an equals sign needs a value after the sign.
      let prefix = argument.isEmpty ? ["--prefix", ""] : ["--prefix=" + argument]
      let given = ["scan", argument, argument, "--from", argument] + prefix
      let hidden = given.map { NegativeNumber.hidden($0) }
      if argument == "-" { continue }
      let command = try #require(try TreeRingTool.parseAsRoot(hidden) as? ScanCommand)
      for found in [command.arguments.store, command.bucket, command.from, command.prefix] {
        #expect(found?.utf8.elementsEqual(argument.utf8) == true, "\(argument.debugDescription)")
      }
    }
  }

  @Test("Every textual argument of every command removes the mark of negative numbers")
  func everyArgument() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Tools/treering")
    var count = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where name.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      for match in text.matches(of: #/@(?:Argument|Option)\((?:[^@])*?var \w+: (\[?\w+)/#) {
        let isText = match.1 == "String" || match.1 == "[String"
        #expect(!isText || match.0.contains("transform:"), "\(name): \(match.0)")
        count += 1
      }
    }
    #expect(count > 50)
  }

  @Test("An order is a field with its direction; any other ending is refused")
  func orders() throws {
    #expect(try IndexAddCommand.order("a,b:desc,c:asc") == "a,b:desc,c")
    #expect(try IndexAddCommand.order("a:b:asc,a:b:desc") == "a:b,a:b:desc")
    for text in ["a:up", "a:", "a,b:DESC", "a:desc:asc"] {
      #expect(throws: (any Error).self) { try IndexAddCommand.order(text) }
    }
  }
}

@Suite struct DocumentationTests {
  @Test("docs/tool.md names every command and no other")
  func commands() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/tool.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let pattern = #/(?m)^\| `([a-z]+)(?: (add|list|remove|read|append))?/#
    let documented = text.matches(of: pattern).map {
      [String($0.1), $0.2.map { String($0) }].compactMap { $0 }.joined(separator: " ")
    }
    let actual = TreeRingTool.configuration.subcommands.flatMap { command in
      let name = command.configuration.commandName ?? ""
      let below = command.configuration.subcommands.map { $0.configuration.commandName ?? "" }
      return below.isEmpty ? [name] : below.map { "\(name) \($0)" }
    }
    #expect(documented == actual)
  }
}
