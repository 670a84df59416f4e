import ArgumentParser
import Foundation
import Testing
import TreeRingMappings

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

  @Test("A range shows the window it says, clipped to the group")
  func windows() throws {
    let range = try RangeSpecification.parse("fixed:3:2")
    #expect(range.options.positions(ofCount: 10) == 2..<5)
    #expect(range.options.positions(ofCount: 4) == 2..<4)
    #expect(range.options.positions(ofCount: 1) == 1..<1)
    #expect(try RangeSpecification.parse("fixed:3:2:end").options.positions(ofCount: 10) == 5..<8)
  }

  @Test("Negative numbers are hidden from the argument parser and shown again")
  func negativeNumbers() {
    #expect(NegativeNumber.hidden("-5") != "-5")
    #expect(NegativeNumber.shown(NegativeNumber.hidden("-5")) == "-5")
    for argument in ["-", "--at", "-a", "5", "-5a"] {
      #expect(NegativeNumber.hidden(argument) == argument)
    }
  }
}

@Suite struct DocumentationTests {
  @Test("docs/tool.md names every command and no other")
  func commands() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/tool.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let documented = text.matches(of: #/(?m)^\| `([a-z]+)(?: (add|list|remove))?/#).map {
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
