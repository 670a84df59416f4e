// Values by number.
//
// Generics end here. Lists and batches hold numbers, so there is one kind of them, for which the compiler makes
// code in this module; generic code that serves models of other modules looks its types up at run time, again
// and again. (For the same reason generic code here passes closures where a key path would do: it would be made anew at
// each call.) And a copy of a list's node is a copy of bytes, which counts no references.

/// What stands for a value of a row.
typealias RowNumber = Int32

/// A list of rows.
typealias RowList = RankedList<RowNumber, Weightless<RowNumber>>

extension RowList {
  /// An empty list. Its leaves are long, since they are copied as bytes, and its inner nodes short, whose
  /// copies count the references to their children.
  static var ofNumbers: RowList { RowList(capacity: 16, leafCapacity: 256) }

  /// A list of these rows. O(n).
  static func ofNumbers(_ rows: [RowNumber]) -> RowList {
    RowList(rows, capacity: 16, leafCapacity: 256)
  }
}

/// Values by number. Numbers that are free are given again.
struct NumberedValues<Value> {
  private var values: [Value?] = []
  private var free: [RowNumber] = []

  /// How many numbers are in use.
  var count: Int { values.count - free.count }

  /// Gives a value a number.
  mutating func add(_ value: Value) -> RowNumber {
    if let row = free.popLast() {
      values[Int(row)] = value
      return row
    }
    values.append(value)
    return RowNumber(values.count - 1)
  }

  /// The value of a number in use.
  subscript(row: RowNumber) -> Value {
    get {
      guard let value = values[Int(row)] else { preconditionFailure("the number \(row) is free") }
      return value
    }
    set { values[Int(row)] = newValue }
  }

  /// Frees a number.
  mutating func remove(_ row: RowNumber) {
    values[Int(row)] = nil
    free.append(row)
  }
}

extension NumberedValues: Sendable where Value: Sendable {}
