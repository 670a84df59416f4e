// `-5` as an argument means five commits back, or is a key or an object; the argument parser would
// take it for an option. So it is hidden behind a character that no shell passes on by accident.

/// Hides arguments that are negative whole numbers from the argument parser.
enum NegativeNumber {
  private static let mark: Character = "\u{1A}"

  /// The argument as the parser is to see it.
  static func hidden(_ argument: String) -> String {
    guard argument.first == "-", argument.count > 1,
      argument.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber })
    else { return argument }
    return String(mark) + argument
  }

  /// The argument as it was given.
  static func shown(_ argument: String) -> String {
    argument.first == mark ? String(argument.dropFirst()) : argument
  }
}
