// The bytes of a value, wherever they are: in the row record, in the log, or in the commit being
// written.

internal import TreeRingLog

/// Resolves stored values to bytes.
struct ValueSource: Sendable {
  let log: CommitLog
  /// The values that the commit being written logs.
  var pending: PendingValues?

  /// Reads a logged value.
  func read(_ reference: LoggedReference, part: ValuePart) throws(TreeRingError) -> [UInt8] {
    if let pending, pending.commit == reference.stamp.commit {
      if let bytes = pending.find(operation: reference.stamp.operation, part: part) {
        return bytes
      }
    }
    let bytes = try log.value(
      commit: reference.stamp.commit, operation: reference.stamp.operation, part: part)
    guard bytes.count == reference.byteCount else {
      throw TreeRingError(
        .corruption,
        "A logged value has \(bytes.count) bytes where \(reference.byteCount) were written. "
          + "Run `treering verify`, then `treering salvage`.", commit: reference.stamp.commit)
    }
    return bytes
  }

  /// Calls `body` with a value's bytes, inline or logged.
  @inline(__always)
  func withBytes<R>(
    of value: StoredValue, part: ValuePart, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    switch value {
    case .inline(let bytes): return try body(bytes)
    case .logged(let reference):
      return try read(reference, part: part).withUnsafeBytes(body)
    }
  }

  /// A copy of a value's bytes, inline or logged.
  func bytes(of value: StoredValue, part: ValuePart) throws(TreeRingError) -> [UInt8] {
    switch value {
    case .inline(let bytes): Array(bytes)
    case .logged(let reference): try read(reference, part: part)
    }
  }
}

/// The logged values of the commit being written. Unchecked, because only the thread that holds the
/// writer lock uses it.
final class PendingValues: @unchecked Sendable {
  @exclusivity(unchecked) var commit: CommitNumber
  @exclusivity(unchecked) private var values: [LoggedValue] = []

  init(commit: CommitNumber) { self.commit = commit }

  var count: Int { values.count }

  func append(_ part: ValuePart, _ value: NewValue, of stamp: Stamp) {
    values.append(
      LoggedValue(operation: stamp.operation, part: part, bytes: Array(value.bytes)))
  }

  /// Removes the values of an operation that failed.
  func truncate(to count: Int) { values.removeSubrange(count...) }

  /// The value of an operation. O(log n), since operations are numbered in order.
  func find(operation: UInt32, part: ValuePart) -> [UInt8]? {
    values[values.partitioningIndex { $0.operation >= operation }...]
      .prefix { $0.operation == operation }.first { $0.part == part }?.bytes
  }

  var all: [LoggedValue] { values }
}

/// Runs code that throws only `TreeRingError`, and restores the error's type.
package func typed<R>(_ body: () throws -> R) throws(TreeRingError) -> R {
  do {
    return try body()
  } catch let error as TreeRingError {
    throw error
  } catch {
    throw TreeRingError(
      .unknown,
      "An error of an unexpected type occurred, which is a defect of this library: \(error).")
  }
}
