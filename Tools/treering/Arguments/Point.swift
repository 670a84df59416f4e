// A point in history on the command line.

import ArgumentParser
import TreeRingLive
import TreeRingLog

extension Point {
  /// Parses a point. The transform of an argument.
  @Sendable static func parse(_ argument: String) throws -> Point {
    do throws(TreeRingError) {
      return try Point(NegativeNumber.shown(argument))
    } catch {
      throw ValidationError(error.message)
    }
  }
}
