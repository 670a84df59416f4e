// A list in sections, with its own order and predicate: a tracker follows the store, and a consumer
// updates the view.
import TreeRing
import TreeRingCollections
import TreeRingMappings

struct Chore: Codable, Equatable { var project: String, title: String, isDone = false }

let chores = Bucket<Chore>("chores")
let store = try Store.inMemory()
func put(_ key: Key, _ chore: Chore) throws {
  try store.write { tx in try tx.put(chore, for: key, in: chores) }
}
try put("1", Chore(project: "home", title: "cook"))
try put("2", Chore(project: "work", title: "mail"))

// snippet.show
// Open chores by project.
let request = TrackerRequest(chores)
  .matching { !$0.row.isDone }
  .sorted { ($0.row.project, $0.row.title) < ($1.row.project, $1.row.title) }

final class Table: SectionedConsumerDelegate {
  typealias Row = TrackedRow<Chore>
  func consumerDidUpdate(_ row: Row, at path: RowPath) { print("*", path) }
  func consumerDidReload(section: Int) { print("# section", section, "has another title") }
  func consumerDidRemove(section: Int) { print("- section", section) }
  func consumerDidInsert(section: Int) { print("+ section", section) }
  func consumerDidRemove(at path: RowPath) { print("-", path) }
  func consumerDidInsert(_ row: Row, at path: RowPath) { print("+", path, row.row.title) }
}

final class ChoreList {
  private var tracker: Tracker<Chore>
  let sections = SectionedConsumer<TrackedRow<Chore>, String>(title: \.row.project)

  /// The consumer does not keep the table alive.
  init(in store: Store, table: Table) throws {
    tracker = try Tracker(of: request, in: store)
    sections.delegate = table
    sections.reset(with: tracker.rows)
  }

  /// To be called when a commit has become visible.
  func showNewest() throws {
    sections.willChange()
    sections.consume(try tracker.advance())
    try sections.didChange()
  }
}
// snippet.hide
let table = Table()
let list = try ChoreList(in: store, table: table)
try put("3", Chore(project: "attic", title: "tidy"))
try put("1", Chore(project: "home", title: "cook", isDone: true))
try list.showNewest()
precondition(list.sections.items.map(\.row.title) == ["tidy", "mail"])
precondition((0..<2).map { list.sections.title(ofSection: $0) } == ["attic", "work"])
