// A group index definition, ready to compute the places of a row.

package import TreeRingLog

/// A definition with its number and the buckets it covers. A class, since each write of a row
/// passes it around.
package final class ActiveIndex: Sendable {
  /// The number of the definition in this store.
  package let number: UInt32
  package let name: String
  let evaluator: Evaluator
  /// The names of the buckets it covers. They need not exist yet.
  package let buckets: [String]

  /// The source of a row's places.
  enum Evaluator: Sendable {
    case fields(FieldIndex)
    case code(@Sendable (RowInput) throws -> [EncodedPlace])
    /// The places of another index, for rows that fit.
    case filtered(ActiveIndex, @Sendable (RowInput) throws -> Bool)
    /// The manual places of a row.
    case manual
    /// The places of an event.
    case events(EventGrouping)
    /// The groups that one closure returns, in the order that another one defines.
    case compared(RowComparison)
    /// The keys that a row refers to.
    case reference(ActiveReference)
    /// The date at which a row vanishes.
    case expiry(ActiveExpiry)
    /// No places: its trees hold words (TextEditor.swift).
    case text(TextIndex)
  }

  /// The definition of a text index; nil for one of groups.
  var text: TextIndex? { if case .text(let text) = evaluator { text } else { nil } }

  /// The manual index whose places it shows: itself, or the one that it filters; otherwise nil.
  let manualName: String?
  /// Whether the places of a row depend on that row alone. If so, the index of one state can be
  /// derived from that of another by the rows that differ.
  var isDerivable: Bool { comparison == nil && manualName == nil }
  /// The comparison that orders its rows, or those of the index that it filters; otherwise nil.
  /// With a comparison, the sort keys are labels, which only the trees contain.
  let comparison: RowComparison?
  /// Whether each group may hold one row only.
  let isUnique: Bool
  /// The number that it sums, or the index that it filters does; otherwise nil.
  let sum: RowSum?

  init(
    number: UInt32, name: String, evaluator: Evaluator, buckets: [String], isUnique: Bool = false,
    sum: RowSum? = nil
  ) {
    self.number = number
    self.name = name
    self.isUnique = isUnique
    self.evaluator = evaluator
    self.buckets = buckets
    switch evaluator {
    case .fields(let fields): self.sum = fields.sumField.map { .field($0) }
    case .filtered(let parent, _): self.sum = parent.sum
    default: self.sum = sum
    }
    switch evaluator {
    case .manual: (manualName, comparison) = (name, nil)
    case .filtered(let parent, _):
      (manualName, comparison) = (parent.manualName, parent.comparison)
    case .compared(let comparison): (manualName, self.comparison) = (nil, comparison)
    case .fields, .code, .reference, .expiry, .text, .events: (manualName, comparison) = (nil, nil)
    }
  }

  /// The rule that the rows referred to exist, if its groups are their keys; otherwise nil.
  var reference: ActiveReference? {
    if case .reference(let reference) = evaluator { reference } else { nil }
  }

  /// Whether its rows vanish at a date.
  var isExpiry: Bool { if case .expiry = evaluator { true } else { false } }

  /// Whether its places may depend on a row's metadata.
  var readsMetadata: Bool {
    switch evaluator {
    case .fields, .manual, .text, .events(.categories): false
    case .code, .filtered, .compared, .events(.ids): true
    case .reference(let reference):
      if case .code = reference.source { true } else { false }
    case .expiry(let expiry): expiry.readsMetadata
    }
  }

  /// The places of a row in group order, one a group; nil if the definition cannot decode the row.
  /// Sort keys are empty where rows are compared.
  ///
  /// - Parameter manualPlaces: The row's places in the manual index that this one shows.
  package func places(
    of row: RowInput, manualPlaces: [EncodedPlace] = []
  ) throws(TreeRingError) -> [EncodedPlace]? {
    if manualName != nil, manualPlaces.isEmpty { return [] }
    switch evaluator {
    case .manual: return manualPlaces
    case .text: return []
    case .events(let grouping): return grouping.places(of: row)
    case .fields(let definition):
      guard let found = definition.evaluate(row.object) else { return [] }
      return [EncodedPlace(group: GroupName(bytes: found.group), sortKey: found.sortKey)]
    case .filtered(let parent, let fits):
      do {
        guard try fits(row) else { return [] }
      } catch {
        return nil
      }
      return try parent.places(of: row, manualPlaces: manualPlaces)
    case .code(let closure): return try Self.inGroupOrder { try closure(row) }
    case .compared(let comparison):
      return try Self.inGroupOrder {
        try comparison.groups(row).map { EncodedPlace(group: $0, sortKey: []) }
      }
    case .reference(let reference):
      return try Self.inGroupOrder {
        try reference.keys(of: row).map { EncodedPlace(group: $0, sortKey: []) }
      }
    case .expiry(let expiry): return try Self.inGroupOrder { try expiry.places(of: row) }
    }
  }

  /// Throws `tooLarge` if a row is not in the index only because the name of its group is too long:
  /// a rule would not see its value.
  func checkLength(of row: RowInput) throws(TreeRingError) {
    switch evaluator {
    case .fields(let fields):
      guard fields.hasTooLongGroup(row.object) else { return }
      throw TreeRingError(
        .tooLarge,
        "The value of the field \(fields.group), which the index \(name) keeps unique, exceeds "
          + "\(Limits.nameByteCount) bytes. Shorten it, or keep a digest of it unique.")
    case .filtered(let parent, let fits):
      if (try? fits(row)) == true { try parent.checkLength(of: row) }
    case .reference(let reference): try reference.checkLength(of: row, in: name)
    case .code, .manual, .compared, .expiry, .text, .events: break
    }
  }

  /// The result of a closure, sorted and with one place a group; nil if the closure could not
  /// decode the row.
  private static func inGroupOrder(
    _ closure: () throws -> [EncodedPlace]
  ) throws(TreeRingError) -> [EncodedPlace]? {
    let places: [EncodedPlace]
    do {
      places = try closure()
    } catch let error as TreeRingError where error.code == .tooLarge {
      throw error
    } catch {
      return nil
    }
    if places.count < 2 { return places }
    var seen: Set<GroupName> = []
    return places.filter { seen.insert($0.group).inserted }.sorted { $0.group < $1.group }
  }
}

extension IndexRecord {
  /// Reads the text of a definition.
  /// - Throws: `corruption` if it cannot be read, since no write accepts such a definition.
  private func stored<R>(_ read: () throws(TreeRingError) -> R) throws(TreeRingError) -> R {
    do throws(TreeRingError) {
      return try read()
    } catch {
      guard error.code == .invalidInput else { throw error }
      throw TreeRingError(
        .corruption,
        "The definition of the index \(name) cannot be read: \(error.message). "
          + "Run `treering verify --deep`, then `treering salvage`.")
    }
  }

  /// The definition, ready for use; nil if its closure is not among `code`.
  func active(code: [CodeIndex]) throws(TreeRingError) -> ActiveIndex? {
    func ready(_ evaluator: ActiveIndex.Evaluator, over buckets: [String]) -> ActiveIndex {
      ActiveIndex(
        number: number, name: name, evaluator: evaluator, buckets: buckets, isUnique: isUnique)
    }
    switch definition.withoutRule {
    case .removed, .unique: return nil
    case .fields(let text), .summed(let text):
      let fields = try stored { () throws(TreeRingError) in try FieldIndex(json: text) }
      return ready(.fields(fields), over: [fields.bucket])
    case .code:
      guard let index = registered(in: code) else { return nil }
      switch index.closure {
      case .places(let places): return ready(.code(places), over: index.buckets)
      case .compared(let comparison): return ready(.compared(comparison), over: index.buckets)
      case .filter, .reference, .expiry: return nil
      }
    case .summedCode(_, let decimals):
      guard let index = registered(in: code), case .places(let places) = index.closure,
        let sum = index.sum, sum.decimals == decimals
      else { return nil }
      return ActiveIndex(
        number: number, name: name, evaluator: .code(places), buckets: index.buckets,
        isUnique: isUnique, sum: .code(sum))
    case .reference(let text):
      let rule = try stored { () throws(TreeRingError) in try Reference(json: text) }
      if let active = rule.active { return ready(.reference(active), over: [rule.bucket]) }
      guard let index = registered(in: code), case .reference(_, let active) = index.closure
      else { return nil }
      return ready(.reference(active), over: index.buckets)
    case .expiry(let text):
      let rule = try stored { () throws(TreeRingError) in try Expiry(json: text) }
      if let active = rule.active { return ready(.expiry(active), over: [rule.bucket]) }
      guard let index = registered(in: code), case .expiry(_, let active) = index.closure
      else { return nil }
      return ready(.expiry(active), over: index.buckets)
    case .filtered(let parent, _):
      guard let index = registered(in: code), case .filter(_, let fits) = index.closure,
        let parent = try parent.active(code: code)
      else { return nil }
      return ready(.filtered(parent, fits), over: index.buckets)
    case .selected(let parent, let text):
      let filter = try stored { () throws(TreeRingError) in try FieldFilter(json: text) }
      guard let parent = try parent.active(code: code) else { return nil }
      return ready(.filtered(parent) { filter.fits($0.object) }, over: parent.buckets)
    case .manual(let buckets): return ready(.manual, over: buckets)
    case .text(let text):
      let index = try stored { () throws(TreeRingError) in try TextIndex(name, json: text) }
      return ready(.text(index), over: [index.bucket])
    case .events(let grouping, let bucket): return ready(.events(grouping), over: [bucket])
    }
  }

  private func registered(in code: [CodeIndex]) -> CodeIndex? {
    code.first { $0.name.isSameName(as: name) && $0.version == version }
  }

  /// The buckets whose rows it may contain.
  var buckets: [String] {
    switch definition.withoutRule {
    case .removed, .unique: []
    case .fields(let text), .summed(let text):
      (try? FieldIndex(json: text)).map { [$0.bucket] } ?? []
    case .text(let text): (try? TextIndex(name, json: text)).map { [$0.bucket] } ?? []
    case .code(let buckets), .summedCode(let buckets, _), .filtered(_, let buckets),
      .manual(let buckets):
      buckets
    case .selected(let parent, _): parent.buckets
    case .reference: reference.map { [$0.bucket] } ?? []
    case .expiry: expiry.map { [$0.bucket] } ?? []
    case .events(_, let bucket): [bucket]
    }
  }

  /// The rule that rows vanish at a date, if it is one.
  var expiry: Expiry? {
    guard case .expiry(let text) = definition else { return nil }
    return try? Expiry(json: text)
  }

  /// The rule that the rows referred to exist, if it is one.
  var reference: Reference? {
    guard case .reference(let text) = definition.withoutRule else { return nil }
    return try? Reference(json: text)
  }

  /// The index that this one filters; nil if it filters none.
  var parent: IndexRecord? {
    switch definition.withoutRule {
    case .filtered(let parent, _), .selected(let parent, _): parent
    case .removed, .fields, .summed, .code, .summedCode, .manual, .unique, .reference, .expiry,
      .text, .events:
      nil
    }
  }

  /// The number of decimals of its sums, or of those of the index that it filters; nil if it has
  /// none.
  package var decimals: Int? {
    switch definition.withoutRule {
    case .summed(let text): (try? FieldIndex(json: text))?.sum?.decimals
    case .summedCode(_, let decimals): Int(decimals)
    case .filtered(let parent, _), .selected(let parent, _): parent.decimals
    default: nil
    }
  }

  /// Whether each group may hold one row only.
  var isUnique: Bool { if case .unique = definition { true } else { false } }
}

extension IndexRecord.Definition {
  /// The definition of the same places without the rule that groups hold one row.
  package var withoutRule: Self {
    if case .unique(let definition) = self { definition } else { self }
  }
}

/// A definition by closure, as a process registers it.
package struct CodeIndex: Sendable {
  package let name: String
  package let version: UInt32
  package let buckets: [String]
  let closure: Closure
  /// Whether each group may hold one row only.
  var isUnique = false
  /// The number that it sums; nil without sums. Only an index by places of a row has sums.
  var sum: CodeSum?

  /// The closures of the definition's author.
  enum Closure: Sendable {
    /// The places of a row.
    case places(@Sendable (RowInput) throws -> [EncodedPlace])
    /// The groups of a row, and the order of rows in them.
    case compared(RowComparison)
    /// The filter of the rows of the index of this name.
    case filter(of: String, @Sendable (RowInput) throws -> Bool)
    /// The keys that a row refers to, as a rule.
    case reference(Reference, ActiveReference)
    /// The date at which a row vanishes, as a rule.
    case expiry(Expiry, ActiveExpiry)
  }

  /// Whether the catalog's index of that name has this definition.
  func isInForce(in catalog: Catalog) -> Bool {
    guard let known = catalog.indexes[name] else { return false }
    guard case .filter(let parent, _) = closure else {
      return known.isSame(version, definition)
    }
    return catalog.indexes[parent].map {
      known.isSame(version, ruled(.filtered($0, buckets: buckets)))
    } ?? false
  }

  /// The definition of an index that is no filter.
  var definition: IndexRecord.Definition {
    switch closure {
    case .reference(let reference, _):
      IndexRecord.Definition(isUnique ? reference.unique() : reference)
    case .expiry(let expiry, _): .expiry(expiry.json)
    case .places, .compared, .filter:
      ruled(
        sum.map { .summedCode(buckets: buckets, decimals: UInt32($0.decimals)) }
          ?? .code(buckets: buckets))
    }
  }

  /// The definition with the rule that groups hold one row, if this index has it.
  func ruled(_ definition: IndexRecord.Definition) -> IndexRecord.Definition {
    isUnique ? .unique(definition) : definition
  }
}
