// The beginning of an import whose history was compacted: its bases. They are written before the
// store is opened.

import TreeRing
import TreeRingImport
import TreeRingLog

/// Makes the beginning of a store from the lines that start with “base”.
struct BaseImport {
  let path: String
  let input: InputFiles
  /// The commits of the bases read, oldest first.
  private(set) var commits: [CommitNumber] = []
  private(set) var operationCount: UInt64 = 0
  /// The number of bases skipped because the store already begins with them.
  private(set) var skippedCount: UInt64 = 0
  /// The number of dates before that of the previous commit, or after that of their base.
  private(set) var clampedCount: UInt64 = 0
  private var newest: Timestamp?

  init(path: String, input: InputFiles) {
    self.path = path
    self.input = input
  }

  /// Imports the bases at the beginning of the input; does nothing if there are none.
  mutating func run(resuming: Bool) throws {
    guard try isAtBase() else { return }
    var line = CommitLine()
    var writer: BaseWriter?
    defer { writer?.close() }
    if resuming { try skipBases(&line) }
    while try isAtBase() {
      let (commit, at) = try parse(&line)
      let target = try writer ?? makeWriter(continuing: resuming)
      writer = target
      try input.failing { try write(line, BaseInfo(commit: commit, timestamp: at), to: target) }
      commits.append(commit)
      operationCount += UInt64(line.operations.count)
    }
  }

  /// Whether the next line is a base.
  private func isAtBase() throws -> Bool {
    guard let line = try input.lines.peek() else { return false }
    return CommitLine.isBase(line)
  }

  private func parse(_ line: inout CommitLine) throws -> (commit: CommitNumber, at: Timestamp) {
    guard let text = try input.lines.next() else {
      throw Failure(.badInput, "The input ends too early.")
    }
    try input.failing { try line.parse(text) }
    guard let commit = line.base, let at = line.at else {
      throw Failure(.badInput, "\(input.place): A base must have the date of its commit, “at”.")
    }
    return (commit, at)
  }

  private func makeWriter(continuing: Bool) throws -> BaseWriter {
    do {
      return try BaseWriter(folder: path, fileSystem: PosixFileSystem(), continues: continuing)
    } catch let error as TreeRingError where error.code == .alreadyExists {
      throw Failure(.cannotCreate, "\(input.place): \(error.description)")
    }
  }

  private mutating func write(_ line: CommitLine, _ given: BaseInfo, to writer: BaseWriter) throws {
    var info = given
    info.note = line.note
    info.buckets = line.buckets
    var dates = line.dates[...]
    for date in dates.map(\.at) + [info.timestamp] {
      if date < newest ?? date || date > info.timestamp { clampedCount += 1 }
      newest = max(newest ?? date, min(date, info.timestamp))
    }
    try writer.write(info) { write in
      for operation in line.operations {
        let commit = operation.written.commit
        while let date = dates.first, date.commit < commit { dates.removeFirst() }
        let date = dates.first.flatMap { $0.commit == commit ? $0.at : nil }
        try write(
          BaseOperation(
            try line.content(of: operation), stamp: operation.written,
            timestamp: min(date ?? info.timestamp, info.timestamp), created: operation.created,
            touched: operation.touched))
      }
    }
  }

  // MARK: - Resuming

  /// Skips the bases that the store begins with.
  private mutating func skipBases(_ line: inout CommitLine) throws {
    let store: Store
    do {
      store = try StoreAccess.open(path, .readOnly)
    } catch let failure as Failure where failure.status == .noInput {
      // The first base was not completely written.
      return
    }
    defer { try? store.close() }
    while try isAtBase(), commits.last ?? 0 < store.horizon {
      let (commit, at) = try parse(&line)
      guard commit <= store.horizon,
        try commit < store.horizon || store.commit(commit).timestamp == at
      else {
        throw Failure(
          .badInput,
          "\(input.place): The store does not begin with this base of commit \(commit), so it was "
            + "made from other input. Import into another store.")
      }
      commits.append(commit)
      skippedCount += 1
    }
  }
}
