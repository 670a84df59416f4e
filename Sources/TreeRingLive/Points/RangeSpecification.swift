// A range as text: `fixed:LENGTH[:OFFSET[:begin|end]]` or
// `flexible:LENGTH[:OFFSET[:begin|end]][:min=N][:max=N][:grow=pin|nonpin|both|none]`.

package import TreeRingLog
package import TreeRingMappings

/// The window of a group, as the user gave it.
package struct RangeSpecification: Hashable, Sendable {
  /// The edges at which a flexible range takes rows in.
  package enum Grow: String { case pin, nonpin, both, none }

  package var isFlexible = false
  package var length = 0
  package var offset = 0
  package var isPinnedToEnd = false
  package var minimum: Int?
  package var maximum: Int?
  package var grow: Grow?

  /// An empty fixed range.
  package init() {}

  /// Reads a range from text.
  ///
  /// - Throws: `invalidInput` if the text has another form.
  package init(_ text: String) throws(TreeRingError) {
    let bad = TreeRingError(
      .invalidInput,
      "“\(text)” is not a range. Write fixed:LENGTH[:OFFSET[:begin|end]] or "
        + "flexible:LENGTH[:OFFSET[:begin|end]][:min=N][:max=N][:grow=pin|nonpin|both|none].")
    var parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)[...]
    var range = RangeSpecification()
    switch parts.popFirst() {
    case "fixed": break
    case "flexible": range.isFlexible = true
    default: throw bad
    }
    func count(_ text: String) throws(TreeRingError) -> Int {
      guard let number = Int(text), number >= 0, text.first != "+" else { throw bad }
      return number
    }
    guard let length = parts.popFirst() else { throw bad }
    range.length = try count(length)
    if let offset = parts.first, !offset.contains("=") {
      range.offset = try count(offset)
      parts.removeFirst()
      if let pin = parts.first, !pin.contains("=") {
        guard pin == "begin" || pin == "end" else { throw bad }
        range.isPinnedToEnd = pin == "end"
        parts.removeFirst()
      }
    }
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard range.isFlexible, pair.count == 2 else { throw bad }
      switch pair[0] {
      case "min" where range.minimum == nil: range.minimum = try count(String(pair[1]))
      case "max" where range.maximum == nil: range.maximum = try count(String(pair[1]))
      case "grow" where range.grow == nil:
        guard let grow = Grow(rawValue: String(pair[1])) else { throw bad }
        range.grow = grow
      default: throw bad
      }
    }
    self = range
  }

  /// The range in the library's form.
  package var options: RangeOptions {
    let pin: RangeOptions.Pin = isPinnedToEnd ? .end : .beginning
    guard isFlexible else { return .fixed(length: length, offset: offset, pin: pin) }
    let growth: RangeOptions.Growth =
      switch grow ?? .pin {
      case .pin: .pinSide
      case .nonpin: .nonPinSide
      case .both: .bothSides
      case .none: .inRangeOnly
      }
    return .flexible(
      length: length, offset: offset, pin: pin, min: minimum ?? 0, max: maximum ?? .max,
      growing: growth)
  }
}

/// A group with its range, `G=R`.
package enum GroupRangeText {
  /// The two parts. A group's name may contain `=`; the range follows the last one that begins a
  /// range.
  ///
  /// - Throws: `invalidInput` if the text has another form.
  package static func split(
    _ text: String
  ) throws(TreeRingError) -> (group: String, range: String) {
    var parts = text.split(separator: "=", omittingEmptySubsequences: false)
    var range: Substring = ""
    while parts.count > 1, let last = parts.popLast() {
      range = range.isEmpty ? last : last + "=" + range
      if last.hasPrefix("fixed:") || last.hasPrefix("flexible:") {
        return (parts.joined(separator: "="), String(range))
      }
    }
    throw TreeRingError(
      .invalidInput, "“\(text)” is not a range of a group. Write GROUP=fixed:LENGTH.")
  }
}
