// The file of all samples, to which each finished line is merged. So a program that ends half-way
// loses only its current line, and a table may be measured in several sittings.

public import Foundation

/// The facts of a sitting by name: day, commit, machine, system, compiler, peers, command.
public typealias Sitting = [String: String]

/// The results of one machine, at one size.
public struct ResultFile: Codable, Sendable {
  /// The size of the measurements: small or full.
  public var size: String
  public var lines: [Line] = []
  /// The facts of the newest sitting, in files of the older form, whose lines have a day and a
  /// commit alone.
  private var facts: [OlderFact]?

  private struct OlderFact: Codable {
    let name: String
    let value: String
  }

  public init(size: String) { self.size = size }

  /// The results that a file holds.
  /// - Throws: an error of Foundation if the file is missing or no such results.
  public init(contentsOf url: URL) throws {
    self = try JSONDecoder().decode(ResultFile.self, from: Data(contentsOf: url))
    let newest = Sitting((facts ?? []).map { ($0.name, $0.value) }) { $1 }
    facts = nil
    for index in lines.indices { lines[index].takeOlderFacts(newest: newest) }
  }

  /// Opens a file for more lines of the same machine and size; begins it if it is missing.
  /// - Throws: `ResultError` if the file is of another machine or size.
  public init(continuing url: URL, size: String, machine: String?) throws {
    self.init(size: size)
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    let known = try ResultFile(contentsOf: url)
    let other = known.lines.map { $0.sitting?["machine"] }.first { $0 != machine }
    guard known.size == size, other == nil else {
      throw ResultError(
        "\(url.path) has results of size \(known.size) from \((other ?? machine) ?? "?"); "
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
