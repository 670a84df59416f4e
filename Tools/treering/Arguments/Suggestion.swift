// Suggestions for mistyped names of commands.

import ArgumentParser

/// Finds the command that a mistyped name may mean.
enum Suggestion {
  /// Throws a failure if a word in the place of a command names none.
  static func check(
    _ arguments: [String], of command: any ParsableCommand.Type = TreeRingTool.self,
    path: [String] = ["treering"]
  ) throws {
    let below = command.configuration.subcommands
    guard let word = arguments.first, !word.hasPrefix("-"), word != "help", !below.isEmpty else {
      return
    }
    let names = below.compactMap { $0.configuration.commandName }
    if let index = names.firstIndex(of: word) {
      return try check(
        Array(arguments.dropFirst()), of: below[index], path: path + [word])
    }
    let help = (path + ["--help"]).joined(separator: " ")
    let typed = NegativeNumber.shown(word)
    let near = nearest(to: typed, among: names).map { "`\((path + [$0]).joined(separator: " "))`" }
    let question = near.isEmpty ? "" : " Did you mean \(near.joined(separator: " or "))?"
    throw Failure(
      .usage,
      "`\(path.joined(separator: " "))` has no command “\(typed)”.\(question) See `\(help)`.")
  }

  /// The names with the fewest edits from a text, at most a third of its length and at least one;
  /// else those that begin with the text.
  static func nearest(to text: String, among names: [String]) -> [String] {
    let limit = max(1, text.count / 3)
    let distances = names.map { (name: $0, distance: distance(text, $0)) }
    let least = distances.map(\.distance).min() ?? .max
    if least <= limit { return distances.filter { $0.distance == least }.map(\.name) }
    return text.count < 2 ? [] : names.filter { $0.hasPrefix(text) }
  }

  /// The number of characters to insert, delete or replace, and of neighbours to exchange, from one
  /// text to another. O(product of the lengths).
  static func distance(_ first: String, _ second: String) -> Int {
    let (a, b) = (Array(first.prefix(64)), Array(second))
    var rows = [Array(0...b.count)]
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        let replaced = rows[i][j] + (a[i] == b[j] ? 0 : 1)
        var best = min(replaced, rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          best = min(best, rows[i - 1][j - 1] + 1)
        }
        row.append(best)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
