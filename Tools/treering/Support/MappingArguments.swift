// How the groups of an index are shown, on the command line.

import ArgumentParser
import TreeRing
import TreeRingMappings

/// Which groups are shown, how much of each, and in which direction.
struct MappingArguments: ParsableArguments {
  @Option(help: "G,…: the groups shown, in order; without it all, in name order, hidden if empty.")
  var groups: String?
  @Flag(help: "A group is a section only while it shows a row.") var hideEmpty = false
  @Option(
    parsing: .singleValue, help: "G=R: shows only a range of a group's rows.",
    transform: GroupRange.parse)
  var range: [GroupRange] = []
  @Option(parsing: .singleValue, help: "G: shows a group's rows last to first.")
  var reverse: [String] = []

  /// The mappings of an index; without groups given, of all there are at the commit shown.
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
