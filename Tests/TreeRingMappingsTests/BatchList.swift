// A model of a view that takes batches: it applies a set of operations at once, and refuses the
// batches that table views refuse.

@testable import TreeRing
@testable import TreeRingMappings

struct BatchProblem: Error { let text: String }

struct BatchList {
  let list: NaiveList

  init(_ list: NaiveList) { self.list = list }

  /// The reason to refuse a batch, apart from its rows; nil if there is none.
  func refuses(
    _ sections: SectionChanges, _ rows: RowChanges, policy: StagePolicy
  ) -> String? {
    let structural = rows.deletes.count + rows.inserts.count + rows.moves.count + sections.count
    if !rows.updates.isEmpty, structural > 0 { return "content in a batch with structure" }
    let moved = Set(sections.moves.map(\.from))
    let movedTo = Set(sections.moves.map(\.to))
    if rows.deletes.contains(where: { moved.contains($0.path.section) })
      || rows.inserts.contains(where: { movedTo.contains($0.path.section) })
      || rows.moves.contains(where: {
        moved.contains($0.from.section) || movedTo.contains($0.to.section)
      })
    {
      return "rows of a moved section change in the same batch"
    }
    if policy == .conservative, !rows.moves.isEmpty,
      !sections.inserts.isEmpty || !sections.deletes.isEmpty
    {
      return "rows move while sections come or go"
    }
    return nil
  }

  /// The list after the operations: old positions for deletes, new positions for inserts.
  func applying(
    _ sections: SectionChanges, _ rows: RowChanges, inserted: (Int) -> NaiveList.Part
  ) -> Result<NaiveList, BatchProblem> {
    var parts = list.parts.map { part in (part.group, part.rows.map(Optional.some)) }
    var carried: [RowPath: RowReference] = [:]
    for (path, target) in rows.deletes.map({ ($0.path, RowPath?.none) })
      + rows.moves.map({ ($0.from, Optional($0.to)) })
    {
      guard parts.indices.contains(path.section), parts[path.section].1.indices.contains(path.row),
        let row = parts[path.section].1[path.row]
      else { return .failure(BatchProblem(text: "nothing to take at \(path)")) }
      parts[path.section].1[path.row] = nil
      if let target { carried[target] = row }
    }
    for insert in rows.inserts { carried[insert.path] = insert.row.reference }
    let gone = Set(sections.deletes + sections.moves.map(\.from))
    var staying = parts.indices.filter { !gone.contains($0) }.makeIterator()
    var origin: [Int: Int] = [:]
    for move in sections.moves { origin[move.to] = move.from }
    let count = parts.count - sections.deletes.count + sections.inserts.count
    let fresh = Set(sections.inserts)
    var result: [NaiveList.Part] = []
    for section in 0..<max(0, count) {
      if fresh.contains(section) {
        result.append(inserted(section))
        continue
      }
      guard let source = origin[section] ?? staying.next() else {
        return .failure(BatchProblem(text: "no section for \(section)"))
      }
      var kept = parts[source].1.compactMap(\.self).makeIterator()
      let arrivals = carried.keys.filter { $0.section == section }.count
      let total = parts[source].1.count { $0 != nil } + arrivals
      var filled: [RowReference] = []
      for row in 0..<total {
        let path = RowPath(section: section, row: row)
        guard let next = carried.removeValue(forKey: path) ?? kept.next() else {
          return .failure(BatchProblem(text: "nothing to show at \(path)"))
        }
        filled.append(next)
      }
      result.append(.init(group: parts[source].0, rows: filled))
    }
    if staying.next() != nil { return .failure(BatchProblem(text: "a section is left over")) }
    if let path = carried.keys.first { return .failure(BatchProblem(text: "no place \(path)")) }
    return .success(NaiveList(result))
  }
}
