// A range on the command line, alone or with its group.

import ArgumentParser
import Foundation
import TreeRingLive
import TreeRingLog

extension RangeSpecification {
  /// Parses a range. The transform of an argument.
  @Sendable static func parse(_ argument: String) throws -> RangeSpecification {
    do throws(TreeRingError) {
      return try RangeSpecification(NegativeNumber.shown(argument))
    } catch {
      throw ValidationError(error.message)
    }
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
