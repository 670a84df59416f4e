// The rows that a commit affects, against plain dictionaries: in a list while they are few, and in
// tables beyond.

import TestSupport
import Testing

@testable import TreeRing

@Suite("Rows recorded of one commit") struct RecordedRowsTests {
  @Test("Any sequence of changes gives the rows, counts and earlier places of dictionaries")
  func model() {
    for seed in seeds(1...200) {
      var random = SeededGenerator(seed: seed)
      let indexLimit = UInt32.random(in: 1...4, using: &random)
      let keyLimit = UInt8.random(in: 1...12, using: &random)
      var rows = RecordedRows()
      var model: [UInt32: [RowReference: AffectedRow]] = [:]
      #expect(rows.count == 0)
      for step in 0..<Int.random(in: 1...40, using: &random) {
        let note = "seed \(seed), step \(step)"
        let index = UInt32.random(in: 1...indexLimit, using: &random)
        let row = RowReference(
          bucket: UInt32.random(in: 1...2, using: &random),
          key: [UInt8.random(in: 1...keyLimit, using: &random)])
        func places() -> [RowPlace] {
          (0..<Int.random(in: 0...2, using: &random)).map { group in
            RowPlace(
              group: GroupName("\(group)"), order: [UInt8.random(in: 0...255, using: &random)])
          }
        }
        let change = AffectedRow(
          oldPlaces: places(), newPlaces: places(), oldContent: nil,
          newContent: RowContent(object: UInt64(step), touched: 0))
        let earlier = model[index]?[row]?.newPlaces
        #expect(rows.add(change, of: row, in: index) == earlier, "\(note)")
        if earlier == nil {
          model[index, default: [:]][row] = change
        } else {
          model[index]?[row]?.follow(with: change)
        }
        #expect(rows.count > 0 && rows.indexCount == model.count, "\(note)")
        #expect(rows.count == model.values.reduce(0) { $0 + $1.count }, "\(note)")
        for index in 1...indexLimit { #expect(rows[index] == model[index] ?? [:], "\(note)") }
      }
    }
  }
}
