// Golden stores: a small store of each version of a bucket's rows, kept in the sources of a
// program's tests, so that every later version of the program is tested to read them.

public import Foundation
public import TreeRing

/// The golden stores of a program: a store for each version of each bucket, and the rows that
/// later versions read from it.
///
///     let golden = GoldenStores(in: folder)
///     let report = try golden.check(books, samples: [("dune", dune)])
///     precondition(report.problems.isEmpty)
///
/// Keep the folder in version control. The first run of a version writes its store, and a file with
/// the rows that this version reads from each older store; later runs compare with them. So a test
/// fails when a migration is changed or forgotten.
public struct GoldenStores: Sendable {
  /// The folder of the stores.
  public let folder: URL

  /// Creates the golden stores of a folder, which is made at the first check.
  public init(in folder: URL) { self.folder = folder }

  /// The result of a check.
  public struct Report: Hashable, Sendable {
    /// The versions of which there is a store, ascending.
    public internal(set) var versions: [UInt32] = []
    /// The files and folders that this check has written, for version control.
    public internal(set) var recorded: [String] = []
    /// The differences found, each a sentence; none if all is well.
    public internal(set) var problems: [String] = []
  }

  /// Checks that the rows of all versions are read as before: at every commit of each store, and
  /// after a rewriting of the old rows.
  ///
  /// - Parameters:
  ///   - bucket: The bucket with its version and migrations.
  ///   - samples: The rows of this version's store, used if there is none yet. They should have
  ///     every field and every case.
  /// - Throws: The errors of the store and of the file system. A row that cannot be read is a
  ///   problem of the report.
  public func check<Row>(
    _ bucket: Bucket<Row>, samples: [(key: Key, row: Row)]
  ) throws -> Report {
    var report = Report()
    let files = FileManager.default
    try files.createDirectory(at: folder, withIntermediateDirectories: true)
    let own = "\(bucket.name)-v\(bucket.version)"
    if !files.fileExists(atPath: folder.appending(path: own).path) {
      try make(own, bucket, samples)
      report.recorded.append(own)
    }
    for (version, name) in try stores(of: bucket.name) {
      report.versions.append(version)
      if version > bucket.version {
        report.problems.append(
          "\(name) is of a later version than the bucket, \(bucket.version).")
        continue
      }
      try check(name, bucket, &report)
    }
    return report
  }

  /// The stores of a bucket by version, ascending.
  private func stores(of bucket: String) throws -> [(UInt32, String)] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).compactMap { name in
      guard name.hasPrefix(bucket + "-v"), let version = UInt32(name.dropFirst(bucket.count + 2))
      else { return nil }
      return (version, name)
    }.sorted { $0.0 < $1.0 }
  }

  private func make<Row>(
    _ name: String, _ bucket: Bucket<Row>, _ samples: [(key: Key, row: Row)]
  ) throws {
    let files = FileManager.default
    // Under another name until it is whole.
    let unfinished = folder.appending(path: ".\(name)")
    if files.fileExists(atPath: unfinished.path) { try files.removeItem(at: unfinished) }
    let store = try Store(at: unfinished.path, options: StoreOptions(buckets: [bucket]))
    for sample in samples {
      try store.write { try $0.put(sample.row, for: sample.key, in: bucket) }
    }
    try store.close()
    // The log alone is the store; the rest is made of it.
    for other in try files.contentsOfDirectory(atPath: unfinished.path) where other != "log" {
      try files.removeItem(at: unfinished.appending(path: other))
    }
    try files.moveItem(at: unfinished, to: folder.appending(path: name))
  }

  /// Checks one store in a copy.
  private func check<Row>(_ name: String, _ bucket: Bucket<Row>, _ report: inout Report) throws {
    let copy = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.copyItem(at: folder.appending(path: name), to: copy)
    defer { try? FileManager.default.removeItem(at: copy) }
    let store = try Store(at: copy.path, options: StoreOptions(buckets: [bucket]))
    defer { try? store.close() }
    let newest = store.newestCommit
    for commit in store.horizon...newest {
      let snapshot = try store.snapshot(at: .commit(commit))
      if let problem = Self.problem(of: bucket, in: snapshot) {
        report.problems.append("\(name) at commit \(commit): \(problem)")
        return
      }
    }
    let rows = try Self.lines(of: bucket, in: store.snapshot())
    try compare(rows, with: "\(name)-as-v\(bucket.version).jsonl", &report)
    let progress = try store.migrate(bucket)
    for failure in progress.failures {
      report.problems.append("\(name), row \(failure.key): \(failure.reason)")
    }
    if try Self.lines(of: bucket, in: store.snapshot()) != rows {
      report.problems.append(
        "\(name): the rewritten rows are read as others. The coder or a migration depends on more "
          + "than the row.")
    }
  }

  /// The first row that cannot be read.
  private static func problem<Row>(of bucket: Bucket<Row>, in snapshot: Snapshot) -> String? {
    do {
      var problem: String?
      try snapshot.forEachRow(in: bucket) { row in
        do {
          _ = try bucket.decode(row)
        } catch {
          problem = "the row \(row.key) cannot be read: \(error)"
        }
        return problem == nil
      }
      return problem
    } catch {
      return "\(error)"
    }
  }

  /// The rows as this version writes them: a line each, the key and the object. Binary rows make
  /// other bytes than text, but the same each time.
  private static func lines<Row>(of bucket: Bucket<Row>, in snapshot: Snapshot) throws -> String {
    var lines = ""
    try snapshot.forEach(in: bucket) { key, row in
      lines += "\(key)\t" + String(decoding: try bucket.coder.encode(row), as: UTF8.self) + "\n"
      return true
    }
    return lines
  }

  /// Compares rows with a recorded file, or records them.
  private func compare(_ rows: String, with name: String, _ report: inout Report) throws {
    let file = folder.appending(path: name)
    guard FileManager.default.fileExists(atPath: file.path) else {
      try Data(rows.utf8).write(to: file)
      report.recorded.append(name)
      return
    }
    let recorded = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    if recorded == rows { return }
    let (old, new) = (recorded.split(separator: "\n"), rows.split(separator: "\n"))
    let index = zip(old, new).prefix { $0 == $1 }.count
    let before = index < old.count ? String(old[index]) : "nothing"
    let after = index < new.count ? String(new[index]) : "nothing"
    report.problems.append("\(name), line \(index + 1): \(after) instead of \(before)")
  }
}
