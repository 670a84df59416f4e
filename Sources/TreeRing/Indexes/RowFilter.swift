// A filter of rows by conditions on their fields, for scans. Every process can evaluate it.

package import TreeRingLog

/// Conditions that a row must fulfil, all of them.
package struct RowFilter: Sendable {
  private enum Test: Sendable {
    case differs([[UInt8]])
    case begins([UInt8])
    case compares(FieldCondition.Relation, FieldValue)
  }

  /// Finds the fields of the tests, and evaluates the equalities.
  private let program: FieldProgram
  private let tests: [Test]
  /// The number of tests that absent fields pass.
  private let absentCount: Int

  /// Creates a filter from typed conditions; FieldCondition.swift states their forms.
  /// - Throws: `invalidInput` with a sentence that states the expected form.
  package init(_ conditions: [String]) throws(TreeRingError) {
    var equalities: [FieldIndex.Condition] = []
    var fields: [FieldIndex.Order] = []
    var tests: [Test] = []
    for text in conditions {
      let condition = try FieldCondition(text)
      switch condition.relation {
      case .equal:
        equalities.append(FieldIndex.Condition(condition.field, in: condition.texts))
        continue
      case .different: tests.append(.differs(condition.texts.map { Array($0.utf8) }))
      case .beginning: tests.append(.begins(Array(condition.text.utf8)))
      case .less, .atMost, .greater, .atLeast:
        let value = try FieldValue(condition.text)
        guard value.kind != .absent else {
          throw TreeRingError(
            .invalidInput,
            "The condition “\(text)” compares with null, which has no order; write FIELD=null")
        }
        tests.append(.compares(condition.relation, value))
      }
      fields.append(FieldIndex.Order(condition.field))
    }
    program = try FieldProgram(
      group: nil, order: fields, conditions: FieldIndex.merged(equalities))
    self.tests = tests
    absentCount = tests.count { if case .differs = $0 { true } else { false } }
  }

  /// Whether a row's object is a JSON object, or a binary row, that fulfils all conditions.
  /// O(bytes), in one pass over the object.
  package func fits(_ object: UnsafeRawBufferPointer) -> Bool {
    var entry = FieldEntry()
    var text: [UInt8] = []
    // Only tests of fields that the object has are made; an absent field differs from all texts.
    var heldCount = absentCount
    let isObject = program.forEachValue(of: object, &entry) { index, json in
      if case .differs = tests[index] { heldCount -= 1 }
      if holds(tests[index], json, &text) { heldCount += 1 }
    }
    return isObject && heldCount == tests.count
  }

  private func holds(
    _ test: Test, _ json: UnsafeRawBufferPointer, _ text: inout [UInt8]
  ) -> Bool {
    text.removeAll(keepingCapacity: true)
    switch test {
    case .differs(let texts):
      return !JSONScanner.appendText(ofScalar: json, to: &text) || !texts.contains(text)
    case .begins(let head):
      return JSONScanner.appendText(ofScalar: json, to: &text) && text.starts(with: head)
    case .compares(let relation, let value):
      guard let order = value.order(of: json) else { return false }
      switch relation {
      case .less: return order.isBefore
      case .atMost: return order.isBefore || order.isEqual
      case .greater: return !order.isBefore && !order.isEqual
      case .atLeast: return !order.isBefore
      case .equal, .different, .beginning: return false
      }
    }
  }
}
