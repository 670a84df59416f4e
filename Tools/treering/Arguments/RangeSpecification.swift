// A range on the command line, alone or with its group.

import ArgumentParser
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

  /// Parses `G=R`. The transform of an argument.
  @Sendable static func parse(_ argument: String) throws -> GroupRange {
    do throws(TreeRingError) {
      let (group, range) = try GroupRangeText.split(NegativeNumber.shown(argument))
      return GroupRange(group: group, range: try RangeSpecification(range))
    } catch {
      throw ValidationError(error.message)
    }
  }
}
