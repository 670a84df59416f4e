// A range on the command line: `fixed:LENGTH[:OFFSET[:begin|end]]` or
// `flexible:LENGTH[:OFFSET[:begin|end]][:min=N][:max=N][:grow=pin|nonpin|both|none]`.

import ArgumentParser
import Foundation
import TreeRingMappings

/// The window of a group, as the user gave it.
struct RangeSpecification: Equatable {
  enum Grow: String { case pin, nonpin, both, none }

  var isFlexible = false
  var length = 0
  var offset = 0
  var isPinnedToEnd = false
  var minimum: Int?
  var maximum: Int?
  var grow: Grow?

  /// Parses a range. The transform of an argument.
  @Sendable static func parse(_ argument: String) throws -> RangeSpecification {
    let text = NegativeNumber.shown(argument)
    let bad = ValidationError(
      "“\(text)” is not a range. Write fixed:LENGTH[:OFFSET[:begin|end]] or "
        + "flexible:LENGTH[:OFFSET[:begin|end]][:min=N][:max=N][:grow=pin|nonpin|both|none].")
    var parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)[...]
    var range = RangeSpecification()
    switch parts.popFirst() {
    case "fixed": break
    case "flexible": range.isFlexible = true
    default: throw bad
    }
    func count(_ text: String) throws -> Int {
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
    return range
  }

  /// The range in the library's form.
  var options: RangeOptions {
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
struct GroupRange {
  var group: String
  var range: RangeSpecification

  /// Parses `G=R`. A group's name may contain `=`; the range follows the last one.
  @Sendable static func parse(_ argument: String) throws -> GroupRange {
    let text = NegativeNumber.shown(argument)
    for kind in ["=fixed:", "=flexible:"] {
      var found: String.Index?
      var rest = text[...]
      while let position = rest.range(of: kind) {
        found = position.lowerBound
        rest = text[text.index(after: position.lowerBound)...]
      }
      if let found {
        return GroupRange(
          group: String(text[..<found]),
          range: try RangeSpecification.parse(String(text[text.index(after: found)...])))
      }
    }
    throw ValidationError("“\(text)” is not a range of a group. Write GROUP=fixed:LENGTH.")
  }
}
