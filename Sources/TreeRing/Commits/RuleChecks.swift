// The checks that a write owes to the store's rules. Each edit notes the groups and rows that may
// break a rule; they are checked at the end of the transaction, so that two rows may exchange their
// values within it. A replay checks nothing: the log holds only commits that passed.

internal import TreeRingLog

/// The checks that a transaction has to make at its end.
struct RuleChecks {
  /// A group of a unique index.
  struct Group: Hashable {
    /// The number of the index.
    var index: UInt32
    var name: GroupName
  }

  /// Whether the transaction has to keep the rules. Copies of commits of another log do not: they
  /// hold what was committed there.
  var isEnforced = true
  /// Whether the state has rules.
  var hasRules = false
  /// Whether the transaction's own deletes change the rows that refer to the deleted ones.
  var appliesDeletions = true
  /// The rules whose closure this process has not registered.
  var unknown: [IndexRecord] = []
  /// The numbers of the rules that the transaction itself defines.
  var defined: [UInt32] = []
  /// The groups of unique indexes that have held several rows, in that order.
  private(set) var shared: [Group] = []
  private var known: Set<Group> = []

  /// A reference of a row to the row of a key.
  struct Link: Hashable {
    /// The number of the reference's index.
    var index: UInt32
    var row: RowReference
    var target: GroupName
  }

  /// The rows that were deleted while others referred to them, in that order.
  private(set) var deleted: [RowReference] = []
  private var knownDeleted: Set<RowReference> = []
  /// The references that were added while their row was absent, in that order.
  private(set) var missing: [Link] = []
  private var knownMissing: Set<Link> = []
  /// The rows that were put without a required reference, each with the number of its index.
  private(set) var lacking: [(index: UInt32, row: RowReference)] = []

  /// Whether this value is as it was made. A transaction that has ended the last rule may have
  /// noted something before.
  var isUnused: Bool {
    isEnforced && appliesDeletions && !hasRules && defined.isEmpty && shared.isEmpty
      && deleted.isEmpty && missing.isEmpty && lacking.isEmpty
  }

  /// Whether edits have to be noted.
  var isActive: Bool { hasRules && isEnforced }

  /// Notes a group that holds several rows at the moment.
  mutating func note(_ group: Group) {
    if known.insert(group).inserted { shared.append(group) }
  }

  mutating func noteDelete(of row: RowReference) {
    if knownDeleted.insert(row).inserted { deleted.append(row) }
  }

  mutating func noteMissing(_ link: Link) {
    if knownMissing.insert(link).inserted { missing.append(link) }
  }

  mutating func noteLacking(_ row: RowReference, in index: UInt32) { lacking.append((index, row)) }

  /// Whether a reference was added while its row was absent.
  func isMissing(_ link: Link) -> Bool { !missing.isEmpty && knownMissing.contains(link) }

  /// Throws `indexDefinedInCode` if a rule about the rows of a bucket cannot be checked here.
  func checkKnown(_ bucket: String, deletes: Bool) throws(TreeRingError) {
    if !isEnforced { return }
    for rule in unknown {
      let concerns =
        deletes
        ? rule.reference?.target.isSameName(as: bucket) ?? false
        : !rule.isExpiry && rule.buckets.containsName(bucket)
      if concerns { throw rule.unregistered }
    }
  }
}

extension IndexRecord {
  /// The error for a rule whose closure this process has not registered.
  var unregistered: TreeRingError {
    TreeRingError(
      .indexDefinedInCode,
      "The rule \(name) about the bucket \(buckets.joined(separator: ", ")) is defined by a "
        + "closure that this process has not registered, so it cannot be kept. Give its GroupIndex "
        + "to `Store(at:indexes:)`.")
  }
}

extension StateEditor {
  /// Finds the rules in force, after the definitions have changed.
  func findRules() {
    if !catalog.hasRules, !rules.hasRules { return }
    let all = catalog.rules
    rules.hasRules = !all.isEmpty
    rules.unknown = all.filter { active[$0.number] == nil }
  }

  /// Checks the length of the values that a rule sees in a row about to be put, and notes a row
  /// without a required reference.
  /// - Parameter places: the row's places in the index of the rule.
  func note(
    _ row: RowInput, at places: [EncodedPlace]?, in index: ActiveIndex
  ) throws(TreeRingError) {
    guard index.isUnique || index.reference != nil else { return }
    try index.checkLength(of: row)
    if index.reference?.isRequired == true, places?.isEmpty ?? true {
      rules.noteLacking(
        RowReference(bucket: row.bucket, key: Array(row.key)), in: index.number)
    }
  }

  /// Notes a deleted row if others refer to it. O(log n) for each reference to its bucket.
  func noteDelete(of reference: BucketReference, _ key: UnsafeRawBufferPointer) {
    let referring = active.referring(to: reference.name)
    if referring.isEmpty || !GroupName.isWithinLimit(key) { return }
    let group = GroupName(bytes: key)
    let isReferredTo = referring.contains { index in
      guard let roots = roots.index(index.number) else { return false }
      return !Tree(roots.order, pages: pages).positions(ofGroup: group).isEmpty
    }
    if isReferredTo {
      rules.noteDelete(of: RowReference(bucket: reference.number, key: Array(key)))
    }
  }

  /// Whether there is a row with a key that a reference's index has as a group. O(log n).
  func exists(_ target: GroupName, in bucket: String) -> Bool {
    guard let number = catalog.number(ofBucket: bucket) else { return false }
    return target.bytes.withUnsafeBytes { key in
      RowTreeKey.with(bucket: number, key: key) { rows.value(of: $0) } != nil
    }
  }

  /// Notes the groups of a unique index that a row has entered although another row is there, and
  /// the references that it has gained to absent rows. O(log n) for each.
  func noteRules(
    _ edit: IndexEdit, in index: IndexRoots, of bucket: UInt32, _ key: UnsafeRawBufferPointer
  ) {
    guard let definition = active[edit.index] else { return }
    let (isUnique, reference) = (definition.isUnique, definition.reference)
    if !isUnique, reference == nil { return }
    let order = Tree(index.order, pages: pages)
    for place in edit.new where !edit.old.contains(where: { $0.group == place.group }) {
      if isUnique, order.positions(ofGroup: place.group).count > 1 {
        rules.note(RuleChecks.Group(index: edit.index, name: place.group))
      }
      if let reference, !exists(place.group, in: reference.target) {
        rules.noteMissing(
          RuleChecks.Link(
            index: edit.index, row: RowReference(bucket: bucket, key: Array(key)),
            target: place.group))
      }
    }
  }
}

extension Tree {
  /// The range of a group's entries in an order tree. Inside a read section.
  func positions(ofGroup group: GroupName) -> Range<Int> {
    let start = group.encoded
    let lower = start.withUnsafeBytes { rank(of: $0) }
    let upper = OrderKey.end(ofGroup: start).withUnsafeBytes { rank(of: $0) }
    return lower..<max(lower, upper)
  }
}
