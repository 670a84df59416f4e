import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingCollections
@testable import TreeRingMappings

@Suite struct ChangeTransactionsTests {
  /// The rows of each section that has any.
  private func sections(_ shown: ShownRows) -> [[RowID]] {
    shown.sections.map { Array($0) }.filter { !$0.isEmpty }
  }

  private static let mappings: [Mappings] = [
    Mappings(of: "SalesRank", groups: ["a"]),
    Mappings(of: "SalesRank", groups: ["b", "nobody", "a", "c"]),
    Mappings(of: "SalesRank", groups: ["c", "a"]).hidingEmptySections()
      .range(.fixed(length: 4)),
    Mappings(
      of: "SalesRank", groupsWhere: { $0.count > 2 },
      orderedBy: { [.descending($0.first(in: books)?.sales, nils: .last)] }),
    Mappings(of: "SalesRank", groups: ["a", "b", "c"]).consolidated(below: 9, as: "all"),
  ]

  @Test(arguments: seeds(1...30)) func aChangeBecomesOneBatchAndBackWithoutLoss(seed: UInt64) throws
  {
    for mappings in Self.mappings {
      var library = try Library(seed: seed)
      try library.commit(20)
      var observer = library.store.observer(of: mappings)
      let first = try observer.advance()
      #expect(first.isReset)
      let consumer = SectionedConsumer<ChangedRow, GroupName>(title: \.group)
      try consumer.reset(applying: first.transactions())
      for _ in 0..<12 {
        try library.commit()
        let change = try observer.advance()
        var transactions = try change.transactions()
        transactions.shuffle(using: &library.random)
        consumer.willChange()
        consumer.consume(transactions)
        try consumer.didChange()
        let shown = (0..<consumer.sectionsCount).map { section in
          (0..<consumer.numberOfItems(inSection: section)).compactMap {
            consumer.object(at: RowPath(section: section, row: $0))?.row
          }
        }
        #expect(shown == sections(change.after), "seed \(seed)")
        let back = try Changeset(
          transactions, from: change.changeset.before, to: change.changeset.after,
          sections: change.sections
        ) { path in
          (try? change.before.row(at: path)) ?? RowID(bucket: "", key: "")
        }
        #expect(back == change.changeset, "seed \(seed)")
      }
    }
  }

  @Test func transactionsThatContradictTheSectionsAreRefused() throws {
    var library = try Library(seed: 1)
    try library.commit(20)
    var observer = library.store.observer(of: Mappings(of: "SalesRank", groups: ["a", "b"]))
    let first = try observer.advance()
    let outline = first.after.outline
    func error(_ transactions: [ListTransaction<ChangedRow>]) -> TreeRingError? {
      do {
        _ = try Changeset(
          transactions, from: outline, to: outline, sections: first.sections,
          oldRow: { _ in RowID(bucket: "", key: "") })
        return nil
      } catch {
        return error
      }
    }
    let row = ChangedRow(row: RowID(bucket: "books", key: "k"), group: "a")
    let count = outline.reduce(0) { $0 + $1.count }
    #expect(error([]) == nil)
    for (wrong, reason) in [
      ([.delete(index: 0)], "it leads to \(count - 1) rows, and the sections have \(count)"),
      (
        [.insert(row, newIndex: 0)],
        "it leads to \(count + 1) rows, and the sections have \(count)"
      ),
      ([.update(row, index: 0)], "an update has no parts that changed"),
      (
        [.delete(index: 99), .insert(row, newIndex: 0)],
        "index 99 is out of range: \(count) rows before the batch"
      ),
      (
        [.move(row, index: 0, newIndex: 99)],
        "index 99 is out of range: \(count) rows after the batch"
      ),
    ] as [([ListTransaction<ChangedRow>], String)] {
      let error = try #require(error(wrong))
      #expect(isRefusal(error, reason))
    }
    #expect(error([.delete(index: 0), .insert(row, newIndex: 0)]) == nil)
  }
}
