// `--from` and `--to`: bounds in the order of an index, as values of the fields that order it.

import ArgumentParser
import TreeRing
import TreeRingLog

struct BoundArguments: ParsableArguments {
  /// The form of bounds, for help texts.
  static let help = """
    Bounds (--from, --to) are values of the fields that order the index, in their order, of all \
    or the first of them: V[,V…]. V is a number, true, false, null, or else a string; one that \
    looks like a number, or has a comma, is written in quotes. Where greater values come first, \
    --from is the greater one.
    """

  @Option(
    help: "Only rows at these values of the order and after them: V[,V…].",
    transform: NegativeNumber.shown)
  var from: String?
  @Option(
    help: "Only rows before these values of the order: V[,V…].", transform: NegativeNumber.shown)
  var to: String?

  /// Whether there are no bounds.
  var isEmpty: Bool { from == nil && to == nil }

  /// The positions of the rows of a group within the bounds.
  func positions(
    in group: GroupName, of reader: IndexReader, at snapshot: Snapshot
  ) throws -> Range<Int> {
    do throws(TreeRingError) {
      return try snapshot.positions(in: group, of: reader, from: from, to: to)
    } catch {
      guard error.code == .invalidInput else { throw error }
      throw Failure(.usage, error.message)
    }
  }
}
