// `--where`: conditions on fields of rows. The library defines their language (FieldCondition).

import ArgumentParser
import TreeRing
import TreeRingLog

struct FilterArguments: ParsableArguments {
  /// The forms of conditions, for help texts.
  static let help = """
    Conditions: FIELD=V[,V…], the text of the field is one of these; FIELD!=V[,V…], it is none of \
    them, or the field is absent; FIELD^=V, it begins with V; FIELD<V, <=, >, >=, the value comes \
    before or after V. V in these four is a number, true or false, or else a string ("8" in quotes \
    is one), and only values of its kind are compared. A shell needs quotes around < and >.
    """

  @Option(
    name: .customLong("where"), parsing: .singleValue,
    help: "Only rows that fulfil a condition on a field. Repeated, all must hold.",
    transform: NegativeNumber.shown)
  var conditions: [String] = []

  /// The number of rows from which a scan with conditions names the indexes that would serve.
  private static let noticedCount = 10_000

  /// Says on stderr, after a long scan of a bucket, which index would serve its conditions.
  func advise(after examinedCount: Int, in bucket: String, of snapshot: Snapshot, _ output: Output)
    throws
  {
    if isEmpty || examinedCount < Self.noticedCount { return }
    output.notice(
      "\(examinedCount) rows were examined. "
        + (try snapshot.indexes.advice(on: conditions, in: bucket)))
  }

  /// Whether there are no conditions.
  var isEmpty: Bool { conditions.isEmpty }

  /// The filter of the conditions; nil if there are none.
  func filter() throws -> RowFilter? {
    if conditions.isEmpty { return nil }
    do throws(TreeRingError) {
      return try RowFilter(conditions)
    } catch {
      throw Failure(.usage, error.message)
    }
  }
}
