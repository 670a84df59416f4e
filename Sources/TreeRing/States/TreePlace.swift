// The trees of a state by their use, so that the same tree can be found in another state.

internal import TreeRingLog

/// One tree of a state.
enum TreePlace: Hashable, Sendable {
  case rows
  case tombstones
  case catalog
  /// The order tree of an index definition, by its number.
  case order(UInt32)
  /// The place tree of an index definition, by its number.
  case places(UInt32)

  /// Every tree of a state, the rows first.
  static func all(of roots: Roots) -> [TreePlace] {
    [.rows, .tombstones, .catalog]
      + roots.indexes.all.flatMap { [.order($0.number), .places($0.number)] }
  }
}

extension Roots {
  /// The root of a tree; the empty tree for an index that is not maintained. Setting the root of
  /// such an index does nothing.
  subscript(place: TreePlace) -> TreeRoot {
    get {
      switch place {
      case .rows: rows
      case .tombstones: tombstones
      case .catalog: catalog
      case .order(let number): index(number)?.order ?? .empty
      case .places(let number): index(number)?.places ?? .empty
      }
    }
    set {
      switch place {
      case .rows: rows = newValue
      case .tombstones: tombstones = newValue
      case .catalog: catalog = newValue
      case .order(let number): indexes[number]?.order = newValue
      case .places(let number): indexes[number]?.places = newValue
      }
    }
  }
}
