// Values by number.
//
// Generics end here. Lists and batches hold numbers, so they have one concrete type, and the
// compiler generates its code in this module. Generic code that serves models of other modules
// would look up its types at run time on each use. (For the same reason generic code here passes
// closures instead of key paths: each call would create a key path again.) Copying a list's node
// copies bytes and counts no references.

/// The number of a row's value.
typealias RowNumber = Int32

/// A list of rows.
typealias RowList = RankedList<RowNumber, Weightless<RowNumber>>

extension RowList {
  /// A list of these rows. O(n). Its leaves are long, because copying them copies bytes only. Its
  /// inner nodes are short, because copying them counts the references to their children.
  static func ofNumbers(_ rows: [RowNumber] = []) -> RowList {
    RowList(rows, capacity: 16, leafCapacity: 256)
  }
}

/// Values by number. Freed numbers are reused.
struct NumberedValues<Value> {
  private var values: [Value?] = []
  private var free: [RowNumber] = []

  /// The number of numbers in use.
  var count: Int { values.count - free.count }

  /// Assigns a number to a value.
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
