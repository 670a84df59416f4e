// Rows, groups, buckets and indexes as JSON objects.

package import TreeRing
internal import TreeRingLog

extension JSONObject {
  /// The members of a row: its bucket, key, object, metadata and last commit. Without an object the
  /// row has neither object nor metadata.
  package mutating func row(_ row: StoredRow, withObject: Bool = true) {
    text("bucket", row.bucket)
    key("key", row.key.bytes)
    if withObject {
      content("object", row.object)
      if let metadata = row.metadata { content("metadata", metadata) }
    }
    number("written", row.written)
  }

  /// The members of a row at a position of its group.
  package mutating func row(_ row: StoredRow, at index: Int) {
    number("index", index)
    key("key", row.key.bytes)
    content("object", row.object)
  }

  /// The members of a hit of a search: its row, score, and the parts of its texts with the words
  /// found.
  package mutating func hit(_ row: StoredRow, score: Double, _ matches: [TextMatch]) {
    text("bucket", row.bucket)
    key("key", row.key.bytes)
    number("score", score, digits: 6)
    texts("snippets", matches.map { $0.snippet() })
    content("object", row.object)
  }

  /// The members of a version of a row.
  package mutating func version(_ version: RowVersion) {
    number("commit", version.commit)
    date("at", version.timestamp)
    text("kind", version.kind.rawValue)
    if let object = version.object { content("object", object) }
    if let metadata = version.metadata { content("metadata", metadata) }
  }

  /// The members of a row that differs between two commits.
  package mutating func difference(_ difference: RowDifference) {
    text("bucket", difference.id.bucket)
    key("key", difference.id.key.bytes)
    text("kind", difference.kind.rawValue)
    if let before = difference.before { content("before", before.object) }
    if let after = difference.after { content("after", after.object) }
  }

  /// The members of a group.
  package mutating func group(_ group: GroupName, rows: Int) {
    key("group", group.bytes)
    number("rows", rows)
  }

  /// The member of a sum: a JSON number with all digits.
  package mutating func sum(_ sum: IndexSum) { raw("sum", sum.description) }

  /// The members of a bucket.
  package mutating func bucket(_ name: String, rows: Int) {
    text("bucket", name)
    number("rows", rows)
  }

  /// The members of a group index.
  ///
  /// - Parameters:
  ///   - rows: The number of its rows; nil if this process cannot read the index.
  ///   - groups: The number of its groups; nil likewise.
  package mutating func index(_ index: IndexInfo, rows: Int?, groups: Int?) {
    text("index", index.name)
    text("bucket", index.buckets.joined(separator: ","))
    if let fields = index.fields {
      text("group", fields.group)
      texts("order", fields.order.map(\.description))
    } else {
      for name in ["group", "order"] { null(name) }
    }
    if let words = index.text {
      texts("text", words.fields.map(\.description))
      if let stemmer = words.stemmer { text("stemmer", stemmer.rawValue) }
    }
    if index.fields != nil || index.filter != nil || index.text != nil {
      let conditions =
        index.fields?.conditions ?? index.filter?.conditions ?? index.text?.conditions ?? []
      let members = conditions.map { condition in
        JSONText.quoted(condition.field) + ":"
          + JSONText.array(condition.values.map { JSONText.quoted($0) })
      }
      raw("where", "{" + members.joined(separator: ",") + "}")
    } else {
      null("where")
    }
    if let parent = index.parent { text("parent", parent) }
    if index.isManual { bool("manual", true) }
    if index.isUnique { bool("unique", true) }
    if let sum = index.fields?.sum {
      text("sum", sum.field)
      if sum.decimals > 0 { number("decimals", sum.decimals) }
    } else if let decimals = index.sumDecimals, index.parent == nil {
      null("sum")
      if decimals > 0 { number("decimals", decimals) }
    }
    if let expiry = index.expiry {
      if let field = expiry.field { text("field", field) }
      text("dates", expiry.field == nil ? "code" : expiry.numbers.rawValue)
    }
    if let reference = index.reference {
      if let field = reference.field { text("field", field) }
      text("to", reference.target)
      text("delete", reference.deletion.rawValue)
      if reference.isRequired { bool("required", true) }
    }
    if let events = index.events { text("events", events.word) }
    number("version", index.version)
    if let rows { number("rows", rows) } else { null("rows") }
    if let groups { number("groups", groups) } else { null("groups") }
  }
}

extension Snapshot {
  /// A reader of an index; nil if the index is defined in code, which this process does not have,
  /// or is a text index, which has no groups.
  package func readableIndex(_ name: String) throws -> IndexReader? {
    if indexes.contains(where: { $0.name.isSameName(as: name) && $0.text != nil }) { return nil }
    do {
      return try index(name)
    } catch {
      guard error.code == .indexDefinedInCode else { throw error }
      return nil
    }
  }
}
