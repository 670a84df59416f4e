// Command-line arguments for the shown groups of an index.

import ArgumentParser
import TreeRing
import TreeRingMappings

/// The shown groups, the range of each, and its direction.
struct MappingArguments: ParsableArguments {
  @Option(
    help: "G,…: the groups shown, in order; without it all, in name order, hidden if empty.",
    transform: NegativeNumber.shown)
  var groups: String?
  @Flag(help: "A group is a section only while it shows a row.") var hideEmpty = false
  @Option(
    parsing: .singleValue, help: "G=R: shows only a range of a group's rows.",
    transform: GroupRange.parse)
  var range: [GroupRange] = []
  @Option(
    parsing: .singleValue, help: "G: shows a group's rows last to first.",
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
