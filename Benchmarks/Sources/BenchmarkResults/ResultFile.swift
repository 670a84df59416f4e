// The file of all samples, to which each finished line is merged. So a program that ends half-way
// loses only its current line, and a table may be measured in several sittings.

public import Foundation

/// A fact about the machine or a version.
public struct Fact: Codable, Hashable, Sendable {
  public let name: String
  public let value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// The results of one machine, at one size.
public struct ResultFile: Codable, Sendable {
  /// The size of the measurements: small or full.
  public var size: String
  /// Facts of the newest sitting. The fact named "machine" is the same in all of them.
  public var facts: [Fact]
  public var lines: [Line] = []

  public init(size: String, facts: [Fact]) {
    self.size = size
    self.facts = facts
  }

  /// The value of a fact; nil if it is unknown.
  public func fact(_ name: String) -> String? { facts.first { $0.name == name }?.value }

  /// The results that a file holds.
  /// - Throws: an error of Foundation if the file is missing or no such results.
  public init(contentsOf url: URL) throws {
    self = try JSONDecoder().decode(ResultFile.self, from: Data(contentsOf: url))
  }

  /// Opens a file for more lines of the same machine and size; begins it if it is missing.
  /// - Throws: `ResultError` if the file is of another machine or size.
  public init(continuing url: URL, size: String, facts: [Fact]) throws {
    self.init(size: size, facts: facts)
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    let known = try ResultFile(contentsOf: url)
    guard known.size == size, known.fact("machine") == fact("machine") else {
      throw ResultError(
        "\(url.path) has results of size \(known.size) from \(known.fact("machine") ?? "?"); "
          + "move it away, or name another folder, to begin anew")
    }
    lines = known.lines
  }

  /// Adds a line, in the place of the same line measured before.
  public mutating func merge(_ line: Line) {
    let place = lines.firstIndex { $0.subject == line.subject && $0.name == line.name }
    if let place { lines[place] = line } else { lines.append(line) }
  }

  /// Replaces the file as a whole.
  public func write(to url: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try (encoder.encode(self) + Data("\n".utf8)).write(to: url, options: .atomic)
  }
}

/// A problem with results, with a message.
public struct ResultError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
