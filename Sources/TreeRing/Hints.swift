// Forms that beginners write and that do not exist, each with the remedy as the compiler's error.

extension Place {
  @available(*, unavailable, message: "State the direction: `.ascending(…)` or `.descending(…)`.")
  @_disfavoredOverload
  public init(in group: some KeyConvertible, by value: some SortValue) { preconditionFailure() }
}

extension Index {
  @available(
    *, unavailable, message: "State a version; raise it when a closure or the order changes."
  )
  public init<each Rest: SortValue>(
    _ name: String, on bucket: Bucket<Row>, group: @escaping @Sendable (Row) throws -> Group?,
    by first: RowOrder<Row, Sort>, _ rest: repeat RowOrder<Row, each Rest>
  ) { preconditionFailure() }
}

extension Index where Sort == Never {
  @available(
    *, unavailable, message: "State a version; raise it when a closure or the order changes."
  )
  public init(
    _ name: String, on bucket: Bucket<Row>, group: @escaping @Sendable (Row) throws -> Group?
  ) { preconditionFailure() }
}

extension TypedIndexReader where Sort == Never {
  @available(*, unavailable, message: "The handle states no order. Declare it with `by:`.")
  public func rank(of value: some SortValue, in group: Group) throws -> Int {
    preconditionFailure()
  }
}

extension Readable {
  @available(
    *, unavailable, message: "Brackets take the handle of an index; `index(\"…\")` takes its name."
  )
  public subscript(name: String) -> IndexReader { preconditionFailure() }
}

extension Snapshot {
  @available(
    *, unavailable,
    message: "Rows are written in a transaction: `store.write { tx in try tx.put(…) }`."
  )
  public func put<Row>(_ row: Row, for key: some KeyConvertible, in bucket: Bucket<Row>) throws {
    preconditionFailure()
  }
}

extension Store {
  @available(
    *, unavailable,
    message: "Rows are written in a transaction: `store.write { tx in try tx.put(…) }`."
  )
  public func put<Row>(_ row: Row, for key: some KeyConvertible, in bucket: Bucket<Row>) throws {
    preconditionFailure()
  }
}
