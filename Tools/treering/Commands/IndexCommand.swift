// `treering index`: adds, lists and removes group indexes.

import ArgumentParser
import TreeRing
import TreeRingLog

struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index", abstract: "Adds, lists and removes group indexes.",
    subcommands: [IndexAddCommand.self, IndexListCommand.self, IndexRemoveCommand.self])
}

struct IndexAddCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Stores the definition of an index by fields, and builds it.",
    discussion: """
      A row without the group field is not in the index. Adding another definition under a name that \
      is taken replaces the index and raises its version.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index's name.") var name: String
  @Option(help: "The bucket whose rows it covers.") var bucket: String
  @Option(help: "The field that names a row's group.") var group: String
  @Option(help: "What rows are ordered by: FIELD[:desc][,…].") var order: String
  @Option(
    name: .customLong("where"), parsing: .singleValue,
    help: "FIELD=V[,V…]: only rows whose field has one of these texts. Repeats are and-ed.")
  var conditions: [String] = []

  func run(_ output: Output) throws {
    var fields: FieldIndex
    do throws(TreeRingError) {
      fields = try FieldIndex(bucket: bucket, group: group, order: order, where: conditions)
    } catch {
      throw Failure(.usage, error.message)
    }
    let store = try openForWriting()
    let existing = store.indexes.first { $0.name == name }
    if let existing { fields = try fields.withVersion(existing.version) }
    if existing?.fields != fields || existing == nil {
      if let existing { fields = try fields.withVersion(existing.version + 1) }
      Interrupt.watch()
      let rows = try store.snapshot().count(in: bucket)
      let progress = ProgressBar("Building \(name)", total: UInt64(rows))
      try store.define(name, fields) { done in
        progress.update(done: UInt64(done), count: UInt64(done), unit: "rows")
        return !Interrupt.isRequested
      }
      progress.finish()
    }
    let list = IndexList(output)
    try list.add(store.indexes.filter { $0.name == name }, try store.snapshot())
    try list.finish()
    try store.close()
  }
}

struct IndexListCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the group indexes.")

  @OptionGroup var arguments: StoreArguments

  func run(_ output: Output) throws {
    let store = try openForReading()
    let list = IndexList(output)
    try list.add(store.indexes, try store.snapshot())
    try list.finish()
  }
}

struct IndexRemoveCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes a group index.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index's name.") var name: String

  func run(_ output: Output) throws {
    let store = try openForWriting()
    let commit = try store.removeIndex(name)
    try store.close()
    try output.commit(commit, "Removed index \(name)")
  }
}

/// Prints indexes.
private final class IndexList {
  private let output: Output
  private let table: Table

  init(_ output: Output) {
    self.output = output
    table = Table(
      output,
      [
        .left("index"), .left("bucket"), .left("group"), .left("order"), .left("where"),
        .right("version"), .right("rows"), .right("groups"),
      ])
  }

  func add(_ indexes: [IndexInfo], _ snapshot: Snapshot) throws {
    for index in indexes { try add(index, snapshot) }
  }

  func finish() throws { try table.finish() }

  private func add(_ index: IndexInfo, _ snapshot: Snapshot) throws {
    // An index defined in code cannot be read here, only named.
    let reader = index.fields == nil ? nil : try snapshot.index(index.name)
    let groups = try reader?.groupCounts().count
    let conditions = index.fields?.conditions ?? []
    let bucket = index.buckets.joined(separator: ",")
    if output.isJSON {
      try output.object {
        $0.text("index", index.name)
        $0.text("bucket", bucket)
        if let fields = index.fields {
          $0.text("group", fields.group)
          $0.texts("order", fields.order.map(\.description))
          let members = conditions.map { condition in
            JSONText.quoted(condition.field) + ":"
              + JSONText.array(condition.values.map { JSONText.quoted($0) })
          }
          $0.raw("where", "{" + members.joined(separator: ",") + "}")
        } else {
          for name in ["group", "order", "where"] { $0.null(name) }
        }
        $0.number("version", index.version)
        if let reader { $0.number("rows", reader.count) } else { $0.null("rows") }
        if let groups { $0.number("groups", groups) } else { $0.null("groups") }
      }
      return
    }
    let order = index.fields?.order.map(\.description).joined(separator: ",")
    let terms = conditions.map { $0.field + "=" + $0.values.joined(separator: ",") }
    try table.row(
      index.name, bucket, index.fields?.group ?? "(in code)", order ?? "",
      terms.joined(separator: " "), "\(index.version)", reader.map { "\($0.count)" } ?? "",
      groups.map { "\($0)" } ?? "")
  }
}
