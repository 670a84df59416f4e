// `treering index`: adds, lists and removes group indexes.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog

struct IndexCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "index", abstract: "Adds, lists and removes group indexes.",
    subcommands: [IndexAddCommand.self, IndexListCommand.self, IndexRemoveCommand.self])
}

struct IndexAddCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Stores the definition of an index, and builds it.",
    discussion: """
      By fields: --bucket, --group and --order, and --where for some of the rows. A row without \
      the group field is not in the index. A filter: --parent and --where, for the rows of another \
      index that fit, in its groups and its order. A manual index: --manual and --bucket; the \
      operations “place” and “unplace” of an import, or a program, place the rows. A text \
      index: --text and --bucket, for `treering find`. Another \
      definition under an existing name replaces the index and raises its version.

      Sums: With --sum an index by fields keeps the sums of a field, for `treering sum`. They are \
      exact: a commit with a number of more than --decimals decimals in it is refused.

      Rules: With --unique each group holds one row at most; a commit after which two rows share \
      one is refused. A reference: --bucket, --field and --to; the field holds the keys of rows of \
      the bucket --to, which must exist, and --on-delete is the effect of deleting such a row. An \
      expiry: --bucket and --expires; rows vanish at the date in that field.
      """)

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index's name.", transform: NegativeNumber.shown)
  var name: String
  @Option(help: "The bucket whose rows it covers.", transform: NegativeNumber.shown)
  var bucket: String?
  @Option(help: "The field that names a row's group.", transform: NegativeNumber.shown)
  var group: String?
  @Option(help: "The order of rows: FIELD[:asc|:desc][,…].", transform: NegativeNumber.shown)
  var order: String?
  @Option(help: "The index whose rows it filters.", transform: NegativeNumber.shown)
  var parent: String?
  @Flag(help: "The index is manual.") var manual = false
  @Flag(help: "Each group holds at most one row.") var unique = false
  @Option(help: "The field to sum.", transform: NegativeNumber.shown)
  var sum: String?
  @Option(help: "The decimals that numbers in the summed field may have; 0 by default.")
  var decimals: Int?
  @Option(help: "The field of a reference.", transform: NegativeNumber.shown)
  var field: String?
  @Option(help: "The bucket that a reference refers to.", transform: NegativeNumber.shown)
  var to: String?
  @Option(help: "The effect of deleting a row that others refer to.")
  var onDelete: Deletion?
  @Flag(help: "Every row must refer to a row.") var required = false
  @Option(help: "The field with the date at which a row vanishes.", transform: NegativeNumber.shown)
  var expires: String?
  @Option(help: "Numbers in that field: seconds since 2001 (date) or 1970, or milliseconds.")
  var numbers: Numbers?
  @Option(
    help: "The fields whose words can be searched: FIELD[:WEIGHT][,…].",
    transform: NegativeNumber.shown)
  var text: String?
  @Option(
    help: "The language of the words, which are reduced to their stems: \(Self.languages).",
    transform: Self.stemmer)
  var stemmer: TextStemmer?
  @Option(
    name: .customLong("where"), parsing: .singleValue,
    help: "FIELD=V[,V…]: Only rows whose field has one of these texts. Repeated, all must hold.",
    transform: NegativeNumber.shown)
  var conditions: [String] = []

  /// The effect of a delete, as an option.
  enum Deletion: String, ExpressibleByArgument, CaseIterable {
    case restrict, cascade, nullify
    var effect: Reference.Deletion { Reference.Deletion(rawValue: rawValue) ?? .restrict }
  }

  /// The unit of numbers that are dates, as an option.
  enum Numbers: String, ExpressibleByArgument, CaseIterable {
    case date, seconds, milliseconds
    var unit: Expiry.Numbers { Expiry.Numbers(rawValue: rawValue) ?? .date }
  }

  private static let languages = TextStemmer.allCases.map(\.rawValue).joined(separator: ", ")

  private static func stemmer(_ name: String) throws -> TextStemmer {
    if let stemmer = TextStemmer(rawValue: name) { return stemmer }
    throw ValidationError("There is no stemmer for “\(name)”, only for \(languages).")
  }

  private enum Definition {
    case fields(FieldIndex)
    case filter(FieldFilter)
    case manual(ManualIndex)
    case reference(Reference)
    case expiry(Expiry)
    case text(TextIndex)
  }

  /// The definition that the options describe.
  private func definition() throws -> Definition {
    do throws(TreeRingError) {
      if let reference = try reference() { return .reference(reference) }
      if let expiry = try expiry() { return .expiry(expiry) }
      let isOther =
        field != nil || to != nil || onDelete != nil || required || expires != nil
        || numbers != nil
      if sum != nil || decimals != nil { return .fields(try summed(isOther: isOther)) }
      if let text {
        guard let bucket, group == nil, order == nil, parent == nil, !manual, !unique, !isOther
        else {
          throw TreeRingError(.invalidInput, "A text index needs --bucket and --text alone.")
        }
        return .text(
          try TextIndex(name, bucket: bucket, fields: text, stemmer: stemmer, where: conditions))
      }
      switch (bucket, group, order, parent, manual) {
      case _ where isOther: break
      case (let bucket?, let group?, let order?, nil, false):
        let index = try FieldIndex(
          bucket: bucket, group: group, order: try Self.order(order), where: conditions)
        return .fields(unique ? index.unique() : index)
      case (nil, nil, nil, let parent?, false):
        let filter = try FieldFilter(of: parent, where: conditions)
        return .filter(unique ? filter.unique() : filter)
      case (let bucket?, nil, nil, nil, true) where conditions.isEmpty && !unique:
        return .manual(ManualIndex(on: bucket))
      default: break
      }
    } catch {
      throw Failure(.usage, error.message)
    }
    throw Failure(
      .usage,
      "An index needs --bucket, --group and --order, or --parent, or --manual and --bucket, or "
        + "--bucket, --field and --to, or --bucket and --expires, or --bucket and --text. --where "
        + "goes with the first two and --text, --unique with the first two and a reference, "
        + "--on-delete and --required with a reference, --numbers with --expires.")
  }

  /// The index with sums that the options describe.
  private func summed(isOther: Bool) throws(TreeRingError) -> FieldIndex {
    guard let bucket, let group, let order, let sum, parent == nil, text == nil, !manual, !isOther
    else {
      throw TreeRingError(
        .invalidInput,
        "--sum goes with --bucket, --group and --order, and --decimals with --sum.")
    }
    let index = try FieldIndex(
      bucket: bucket, group: group, order: try Self.order(order), where: conditions
    ).summing(sum, decimals: decimals ?? 0)
    return unique ? index.unique() : index
  }

  /// The expiry that the options describe; nil if they describe none.
  private func expiry() throws(TreeRingError) -> Expiry? {
    guard let bucket, let expires, group == nil, order == nil, parent == nil, field == nil,
      to == nil, onDelete == nil, !manual, !unique, !required, conditions.isEmpty
    else { return nil }
    return try Expiry(on: bucket, field: expires, numbers: numbers?.unit ?? .date)
  }

  /// The reference that the options describe; nil if they describe none.
  private func reference() throws(TreeRingError) -> Reference? {
    guard let bucket, let field, let to, expires == nil, numbers == nil, group == nil, order == nil,
      parent == nil, !manual,
      conditions.isEmpty
    else { return nil }
    let reference = try Reference(
      on: bucket, field: field, to: to, onDelete: onDelete?.effect ?? .restrict,
      isRequired: required)
    return unique ? reference.unique() : reference
  }

  /// The order fields in the library's form, which knows only `:desc`.
  static func order(_ text: String) throws(TreeRingError) -> String {
    var fields: [String] = []
    for field in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let colon = field.lastIndex(of: ":") else {
        fields.append(String(field))
        continue
      }
      switch field[field.index(after: colon)...] {
      case "desc": fields.append(String(field))
      case "asc" where !field[..<colon].hasSuffix(":desc"): fields.append(String(field[..<colon]))
      default:
        throw TreeRingError(
          .invalidInput,
          "“\(field)” is not an order. Write FIELD, FIELD:asc or FIELD:desc; a field whose name "
            + "contains a colon needs :asc or :desc.")
      }
    }
    return fields.joined(separator: ",")
  }

  func run(_ output: Output) throws {
    let definition = try definition()
    let store = try openForWriting()
    Interrupt.watch()
    let rows = try store.snapshot().buckets().reduce(0) {
      bucket == nil || bucket.isSameName(as: $1.name) ? $0 + $1.rows : $0
    }
    let progress = ProgressBar("Building \(name)", total: UInt64(rows))
    try define(definition, in: store) { done in
      progress.update(done: UInt64(done), count: UInt64(done), unit: "rows")
      return !Interrupt.isRequested
    }
    progress.finish()
    let list = IndexList(output)
    try list.add(store.indexes.filter { $0.name.isSameName(as: name) }, try store.snapshot())
    try list.finish()
    try store.close()
  }

  /// Defines the index unless it already has that definition. A different definition gets the next
  /// version.
  private func define(
    _ definition: Definition, in store: Store, progress: (Int) -> Bool
  ) throws {
    let existing = store.indexes.first { $0.name.isSameName(as: name) }
    let version = existing?.version ?? 1
    let next = existing.map { $0.version + 1 } ?? 1
    switch definition {
    case .fields(let fields):
      if try existing?.fields == fields.withVersion(version) { return }
      try store.define(name, fields.withVersion(next), progress: progress)
    case .filter(let filter):
      if try existing?.filter == filter.withVersion(version) { return }
      try store.define(name, filter.withVersion(next), progress: progress)
    case .manual(let manual): try store.define(name, manual)
    case .reference(let reference):
      if try existing?.reference == reference.withVersion(version) { return }
      try store.define(name, reference.withVersion(next), progress: progress)
    case .expiry(let expiry):
      if try existing?.expiry == expiry.withVersion(version) { return }
      try store.define(name, expiry.withVersion(next), progress: progress)
    case .text(let text):
      if try existing?.text == text.withVersion(version) { return }
      try store.define(text.withVersion(next), progress: progress)
    }
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
  @Argument(help: "The index's name.", transform: NegativeNumber.shown)
  var name: String

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
        .left("rule"), .right("version"), .right("rows"), .right("groups"),
      ])
  }

  func add(_ indexes: [IndexInfo], _ snapshot: Snapshot) throws {
    for index in indexes { try add(index, snapshot) }
  }

  func finish() throws { try table.finish() }

  private func add(_ index: IndexInfo, _ snapshot: Snapshot) throws {
    let reader = try snapshot.readableIndex(index.name)
    let groups = try reader?.groupCounts().count
    let count = try index.text == nil ? reader?.count : snapshot.text(index.name).count
    let conditions =
      index.fields?.conditions ?? index.filter?.conditions ?? index.text?.conditions ?? []
    let bucket = index.buckets.joined(separator: ",")
    if output.isJSON {
      try output.object { $0.index(index, rows: count, groups: groups) }
      return
    }
    let order = (index.fields?.order.map(\.description) ?? index.text?.fields.map(\.description))?
      .joined(separator: ",")
    let terms = conditions.map { $0.field + "=" + $0.values.joined(separator: ",") }
    try table.row(
      index.name, bucket, index.fields?.group ?? kind(of: index), order ?? "",
      terms.joined(separator: " "), rules(of: index), "\(index.version)",
      count.map { "\($0)" } ?? "", groups.map { "\($0)" } ?? "")
  }

  /// The rules of an index, as words.
  private func rules(of index: IndexInfo) -> String {
    var words = index.isUnique ? ["unique"] : []
    if index.expiry != nil { words.append("expires") }
    if let sum = index.fields?.sum {
      words.append("sums \(sum.field)" + (sum.decimals == 0 ? "" : ":\(sum.decimals)"))
    } else if let decimals = index.sumDecimals, index.parent == nil {
      words.append("sums" + (decimals == 0 ? "" : ":\(decimals)"))
    }
    if let reference = index.reference {
      words.append("to \(reference.target)")
      if reference.isRequired { words.append("required") }
      words.append(reference.deletion.rawValue)
    }
    return words.joined(separator: ", ")
  }

  /// The kind of an index that is not defined by fields.
  private func kind(of index: IndexInfo) -> String {
    if index.isManual { return "(manual)" }
    if let expiry = index.expiry { return expiry.field ?? "(in code)" }
    if let reference = index.reference { return reference.field ?? "(in code)" }
    if index.text != nil { return "(text)" }
    if let events = index.events { return "(events by \(events.word))" }
    return index.filter.map { "(filters \($0.parent))" } ?? "(in code)"
  }
}
