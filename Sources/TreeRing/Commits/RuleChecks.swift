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
  /// The rules whose closure this process has not registered.
  var unknown: [IndexRecord] = []
  /// The numbers of the rules that the transaction itself defines.
  var defined: [UInt32] = []
  /// The groups of unique indexes that have held several rows, in that order.
  private(set) var shared: [Group] = []
  private var known: Set<Group> = []

  /// Whether edits have to be noted.
  var isActive: Bool { hasRules && isEnforced }

  /// Notes a group that holds several rows at the moment.
  mutating func note(_ group: Group) {
    if known.insert(group).inserted { shared.append(group) }
  }

  /// Throws `indexDefinedInCode` if a rule about the rows of a bucket cannot be checked here.
  func checkKnown(_ bucket: String, deletes: Bool) throws(TreeRingError) {
    if !isEnforced || deletes { return }
    for rule in unknown where rule.buckets.containsName(bucket) { throw rule.unregistered }
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
    let all = catalog.rules
    rules.hasRules = !all.isEmpty
    rules.unknown = all.filter { active[$0.number] == nil }
  }

  /// Notes the groups of a unique index that a row has entered although another row is there.
  /// O(log n) for each.
  func noteRules(
    _ edit: IndexEdit, in index: IndexRoots, of bucket: UInt32, _ key: UnsafeRawBufferPointer
  ) {
    guard let definition = active[edit.index], definition.isUnique else { return }
    let order = Tree(index.order, pages: pages)
    for place in edit.new where !edit.old.contains(where: { $0.group == place.group }) {
      if order.positions(ofGroup: place.group).count > 1 {
        rules.note(RuleChecks.Group(index: edit.index, name: place.group))
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
