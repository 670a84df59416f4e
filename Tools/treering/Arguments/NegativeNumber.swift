// `-5` as an argument means five commits back, or is a key, a name or an object; the argument
// parser would take it for an option. No option begins with a minus and a digit. So arguments that
// do get a mark, one character in front, and the transform of every textual argument removes it.

/// Hides arguments that begin like negative numbers from the argument parser.
enum NegativeNumber {
  private static let mark: Character = "\u{1A}"

  /// The argument in the form for the parser.
  static func hidden(_ argument: String) -> String {
    let rest = argument.utf8.dropFirst()
    let isNegative =
      argument.utf8.first == UInt8(ascii: "-")
      && rest.first.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } == true
    // An argument that begins with the mark gets a second one, which the transform removes.
    let isMarked = argument.utf8.first == mark.asciiValue
    if isNegative || isMarked { return String(mark) + argument }
    guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else {
      return argument
    }
    let value = argument[argument.index(after: equals)...]
    return value.first == mark ? argument[...equals] + String(mark) + value : argument
  }

  /// The argument as the user gave it. The transform of every textual argument and option.
  @Sendable static func shown(_ argument: String) -> String {
    argument.utf8.first == mark.asciiValue
      ? String(Substring(argument.utf8.dropFirst())) : argument
  }

  /// A message of the argument parser, with quoted arguments as the user gave them.
  static func unmarked(_ message: String) -> String {
    message.replacing(String(mark) + "-", with: "-")
  }
}
