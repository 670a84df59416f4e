// References in code: a closure returns the keys that a row refers to.

internal import TreeRingLog

extension GroupIndex {
  /// The effect of deleting a row on those that refer to it; see ``Reference/Deletion``.
  public enum Deletion<Row>: Sendable {
    /// The commit is refused with `restricted` if a row refers to it at the end.
    case restrict
    /// Rows that refer to it are deleted too, and those that refer to these.
    case cascade
    /// The closure removes the key from the row, which is put again with its metadata.
    case nullify(@Sendable (_ row: inout Row, _ key: Key) -> Void)
  }

  /// Defines a rule that rows refer to rows that exist, by a closure that returns the keys.
  ///
  ///     let shelf = GroupIndex(
  ///       "shelf", on: books, version: 1, to: shelves,
  ///       onDelete: .nullify { book, _ in book.shelf = nil },
  ///       keys: { book in book.shelf })
  ///
  /// It is a group index whose groups are the keys referred to, and otherwise as ``Reference``. A
  /// process that has not registered it can put no rows into the bucket, and delete none of the
  /// bucket referred to; it throws `indexDefinedInCode`.
  ///
  /// - Parameters:
  ///   - name: The name of the index and rule.
  ///   - bucket: The bucket of the rows that refer to others.
  ///   - version: The version of the closures. Raise it when one changes.
  ///   - target: The bucket of the rows referred to.
  ///   - deletion: The effect of deleting a row that others refer to.
  ///   - isRequired: Whether every row must refer to a row; not together with `nullify`.
  ///   - keys: Returns the keys that a row refers to: none, one or several.
  public init<Row: SendableMetatype, Keys: GroupSet>(
    _ name: String, on bucket: Bucket<Row>, version: UInt32, to target: some BucketName,
    onDelete deletion: Deletion<Row> = .restrict, isRequired: Bool = false,
    keys: @escaping @Sendable (Row) throws -> Keys
  ) {
    let coder = bucket.coder
    let kind: Reference.Deletion
    var change: (@Sendable (inout Row, Key) -> Void)?
    switch deletion {
    case .restrict: kind = .restrict
    case .cascade: kind = .cascade
    case .nullify(let closure): (kind, change) = (.nullify, closure)
    }
    let source = ActiveReference.Source.code(
      keys: { input in
        let groups = try keys(try input.row(by: coder).row).groups
        for group in groups { try group.check() }
        return groups
      },
      remove: { [change] key, input in
        guard let change else { return nil }
        var row = try input.row(by: coder).row
        change(&row, key)
        return (try coder.encode(row), coder.version)
      })
    guard
      let reference = try? Reference(
        bucket: bucket.name, field: nil, target: target.bucketName, deletion: kind,
        isRequired: isRequired, version: version)
    else { preconditionFailure("a required reference cannot be nullified") }
    let active = ActiveReference(
      target: reference.target, deletion: kind, isRequired: isRequired, source: source)
    self.init(
      name, version: version,
      CodeIndex(
        name: name, version: version, buckets: [bucket.name],
        closure: .reference(reference, active)))
  }
}

extension Key: GroupSet {
  public var groups: [GroupName] { [GroupName(bytes: bytes)] }
}
