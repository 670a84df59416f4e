// Random commits under references between three buckets, against a model of dictionaries.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

/// Rows that refer to others, and the rules about them.
private struct ReferenceModel {
  struct Rule {
    var name: String
    var bucket: String
    var target: String
    var deletion: Reference.Deletion
    var isRequired = false
  }

  enum Edit {
    case put(RowID, [String: [Key]])
    case delete(RowID)
  }

  struct Link: Hashable {
    var rule: String
    var row: RowID
    var target: RowID
  }

  var rules: [Rule]
  /// The keys that each row refers to, by rule.
  var rows: [RowID: [String: [Key]]] = [:]

  private func targets(_ row: RowID, _ rule: Rule) -> [RowID] {
    guard row.bucket == rule.bucket else { return [] }
    return (rows[row]?[rule.name] ?? []).map { RowID($0, in: rule.target) }
  }

  private func referrers(_ target: RowID, _ rule: Rule) -> [RowID] {
    rows.keys.filter { targets($0, rule).contains(target) }
  }

  /// Applies a commit; returns the code with which it is refused, if it is.
  mutating func apply(_ edits: [Edit]) -> TreeRingError.Code? {
    let start = self
    var deleted: [RowID] = []
    var late: Set<Link> = []
    for edit in edits {
      switch edit {
      case .put(let row, let keys):
        let old = rules.flatMap { rule in
          targets(row, rule).map { Link(rule: rule.name, row: row, target: $0) }
        }
        rows[row] = keys
        for rule in rules {
          for target in targets(row, rule) where rows[target] == nil {
            let link = Link(rule: rule.name, row: row, target: target)
            if !old.contains(link) { late.insert(link) }
          }
        }
      case .delete(let row):
        if rows.removeValue(forKey: row) == nil { continue }
        if rules.contains(where: { !referrers(row, $0).isEmpty }) { deleted.append(row) }
      }
    }
    func bound(_ target: RowID, _ rule: Rule) -> [RowID] {
      referrers(target, rule).filter {
        !late.contains(Link(rule: rule.name, row: $0, target: target))
      }
    }
    var next = 0
    while next < deleted.count {
      defer { next += 1 }
      if rows[deleted[next]] != nil { continue }
      for rule in rules where rule.deletion == .cascade && rule.target == deleted[next].bucket {
        for row in bound(deleted[next], rule) {
          rows[row] = nil
          deleted.append(row)
        }
      }
    }
    for target in deleted where rows[target] == nil {
      for rule in rules where rule.deletion == .nullify && rule.target == target.bucket {
        for row in bound(target, rule) { rows[row]?[rule.name]?.removeAll { $0 == target.key } }
      }
    }
    var code: TreeRingError.Code?
    for rule in rules {
      for row in rows.keys where row.bucket == rule.bucket {
        if rule.isRequired, targets(row, rule).isEmpty { code = .referenceMissing }
        for target in targets(row, rule) where rows[target] == nil {
          let isLate = late.contains(Link(rule: rule.name, row: row, target: target))
          if isLate { code = .referenceMissing } else { code = code ?? .restricted }
        }
      }
    }
    if code != nil { self = start }
    return code
  }
}

@Suite("Random references", .leavesSoundStores) struct ReferenceModelTests {
  private static func json(_ keys: [String: [Key]]) -> String {
    let fields = keys.sorted { $0.key < $1.key }.map { name, keys in
      #""\#(name)":["# + keys.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }
    return "{" + fields.joined(separator: ",") + "}"
  }

  private static func randomEdit(
    _ rules: [ReferenceModel.Rule], _ random: inout SeededGenerator
  ) -> ReferenceModel.Edit {
    let bucket = ["a", "b", "c"].randomElement(using: &random) ?? "a"
    func key() -> Key { Key("\(Int.random(in: 0..<4, using: &random))") }
    let row = RowID(key(), in: bucket)
    if Int.random(in: 0..<3, using: &random) == 0 { return .delete(row) }
    var keys: [String: [Key]] = [:]
    for rule in rules where rule.bucket == bucket {
      var targets: [Key] = []
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let target = key()
        if !targets.contains(target) { targets.append(target) }
      }
      keys[rule.name] = targets
    }
    return .put(row, keys)
  }

  private func rows(_ snapshot: Snapshot) throws -> [RowID: String] {
    var rows: [RowID: String] = [:]
    for bucket in ["a", "b", "c"] {
      try snapshot.forEachRow(in: bucket) { row in
        rows[RowID(row.key, in: bucket)] = String(decoding: row.object, as: UTF8.self)
        return true
      }
    }
    return rows
  }

  @Test(
    "Random commits end as the model's; replay, followers and an import of the export agree",
    arguments: seeds(1...24))
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func deletion() -> Reference.Deletion {
      Reference.Deletion.allCases.randomElement(using: &random) ?? .restrict
    }
    let kinds = (0..<4).map { _ in deletion() }
    let rules: [ReferenceModel.Rule] = [
      .init(name: "ba", bucket: "b", target: "a", deletion: kinds[0]),
      .init(
        name: "cb", bucket: "c", target: "b", deletion: kinds[1],
        isRequired: kinds[1] != .nullify && seed.isMultiple(of: 2)),
      .init(name: "aa", bucket: "a", target: "a", deletion: kinds[2]),
      .init(name: "ac", bucket: "a", target: "c", deletion: kinds[3]),
    ]
    let files = MemoryFileSystem()
    var options = StoreOptions()
    options.pageCellCapacity = 6
    var store = try Store(path: "store", fileSystem: files, options: options)
    for rule in rules {
      try store.define(
        rule.name,
        Reference(
          on: rule.bucket, field: rule.name, to: rule.target, onDelete: rule.deletion,
          isRequired: rule.isRequired))
    }
    var model = ReferenceModel(rules: rules)
    var outcomes: [TreeRingError.Code?: Int] = [:]
    for turn in 0..<150 {
      let edits = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        Self.randomEdit(rules, &random)
      }
      let wanted = model.apply(edits)
      let error = ReferenceTests.refusal {
        try store.write { tx in
          for edit in edits {
            switch edit {
            case .put(let row, let keys): try ReferenceTests.put(tx, row, Self.json(keys))
            case .delete(let row): try tx.delete(row.key, in: row.bucket)
            }
          }
        }
      }
      #expect(error?.code == wanted, "seed \(seed), turn \(turn)")
      outcomes[wanted, default: 0] += 1
      #expect(
        try rows(store.snapshot()) == model.rows.mapValues { Self.json($0) },
        "seed \(seed), turn \(turn)")
    }
    #expect(outcomes[nil] ?? 0 > 10 && outcomes[.referenceMissing] ?? 0 > 0, "seed \(seed)")
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    let shown = try rows(store.snapshot())
    var reading = options
    reading.mode = .readOnly
    let follower = try Store(path: "store", fileSystem: files, options: reading)
    #expect(try rows(follower.snapshot()) == shown, "seed \(seed)")
    try follower.close()
    try store.close()
    try files.unlink("store/pages")
    store = try Store(path: "store", fileSystem: files, options: options)
    #expect(try rows(store.snapshot()) == shown, "seed \(seed)")
    #expect(try store.checkInvariants() == [], "seed \(seed)")
    // Writing the operations of each commit again applies no effect twice.
    let copy = try Store.inMemory()
    for commit in 1...store.newestCommit {
      let operations = try store.operations(of: commit).operations
      try copy.write { tx in
        for operation in operations {
          switch operation {
          case .index(let name, let version, let definition):
            try tx.define(name, version: version, definition)
          case .row(let row, .delete): try tx.delete(row.key, in: row.bucket)
          case .row(let row, let change):
            let (_, object, _) = change.written
            try ReferenceTests.put(tx, row, String(decoding: object ?? [], as: UTF8.self))
          default: Issue.record("no other operation is expected")
          }
        }
      }
      #expect(
        try copy.operations(of: commit).operations.count == operations.count,
        "seed \(seed), commit \(commit)")
    }
    #expect(try rows(copy.snapshot()) == shown, "seed \(seed)")
    try store.close()
  }
}
