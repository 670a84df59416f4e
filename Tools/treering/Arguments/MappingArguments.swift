// Command-line arguments for the shown groups of an index.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingMappings

/// The shown groups, the range of each, and its direction.
struct MappingArguments: ParsableArguments {
  @Option(
    help: "G,…: The groups to show, in order. By default all that have rows, in name order.",
    transform: NegativeNumber.shown)
  var groups: String?
  @Flag(help: "Hide groups that show no row.") var hideEmpty = false
  @Option(
    parsing: .singleValue, help: "G=R: Show only the range R of the rows of group G.",
    transform: GroupRange.parse)
  var range: [GroupRange] = []
  @Option(
    parsing: .singleValue, help: "G: Show the rows of group G last to first.",
    transform: NegativeNumber.shown)
  var reverse: [String] = []

  /// The mappings of an index; without given groups, of all groups at the shown commit.
  func mappings(of index: String) -> Mappings {
    var mappings: Mappings
    if let groups {
      mappings = Mappings(of: index, groups: groups.split(separator: ",").map { GroupName($0) })
        .hidingEmptySections(hideEmpty)
    } else {
      mappings = Mappings(of: index, groupsWhere: { _ in true }).hidingEmptySections()
    }
    for range in range {
      mappings = mappings.range(range.range.options, of: GroupName(range.group))
    }
    for group in reverse { mappings = mappings.reversed(GroupName(group)) }
    return mappings
  }
}
