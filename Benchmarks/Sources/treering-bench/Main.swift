// Runs benchmarks: parses the command line, selects subjects, prints the report. It fails on a
// wrong result, never on a slow one.

internal import BenchmarkHarness
internal import BenchmarkResults
internal import Foundation

#if canImport(PeerLMDB)
  internal import PeerLMDB
#endif
#if canImport(PeerRocksDB)
  internal import PeerRocksDB
#endif
#if canImport(PeerLevelDB)
  internal import PeerLevelDB
#endif
#if canImport(PeerSQLite)
  internal import PeerSQLite
#endif
#if canImport(PeerGRDB)
  internal import PeerGRDB
#endif

/// A group of lines that are measured together.
struct Subject: Sendable {
  let name: String
  let run: @Sendable (Context) throws -> Void
}

@main
struct TreeRingBench {
  static let usage = """
    USAGE: treering-bench [SUBJECT…] [--exact] [--size small|full] [--engines NAMES] 
                          [--runs N] [--largest ROWS] [--flights FILE] [--folder PATH] [--json]
                          [--into FILE [--fact NAME=VALUE]…] [--list]
           treering-bench --hot-path NAME

    SUBJECT          a name, or a part of one; all subjects without
    --exact          subjects are whole names
    --size           small (default; checks results in under a minute) or full (for figures)
    --engines        only engines of these names, separated by commas
    --runs           interleaved runs of each line; 5 by default
    --flights        flights to import, JSON lines, also .lz4; the week in Tests/Fixtures by default
    --folder         where stores are made; a new folder in TMPDIR by default
    --largest        most rows of lines that show the growth with rows; 1,000,000 by default
    --json           print all samples as JSON instead of a table of medians
    --into           a JSON file that every finished line is merged into
    --fact           a fact of this sitting for each line; a file of another machine is refused
    --hot-path       run one hot path, whose instructions Tools/instructions counts
    --hot-paths      print the names of all hot paths
    --list           print the names of all subjects

    TREERING_PEERS=lmdb,sqlite,rocksdb,leveldb,grdb at build time adds peers to compare with.
    """

  /// Memory comes first: other subjects leave free memory behind, which would hide its growth.
  static let subjects: [Subject] =
    [harnessRules, memory] + writeMemory + commits + batches + bulkLoad + writeCosts + typedRows + [
      randomGets, scans, typedGets, observedLists, readsBesideWriter, diskUse, bytesWritten,
      opening, rowGrowth, replay, recoveryRate,
      rankSelect, changesets, flightBoard, consumers, liveLists, importFlights, asOf, asOfIndexes,
      asOfDistance,
      loggedValues, taggedCommits, manySnapshots, openTime,
      pinnedUpdates, checkpointLatency, compactionLatency, followerDelay, largeStore,
      expirySweep,
    ] + streams

  static var engines: [any Engine.Type] {
    var engines: [any Engine.Type] = [TreeRingEngine.self]
    #if canImport(PeerLMDB)
      engines.append(LMDBEngine.self)
    #endif
    #if canImport(PeerRocksDB)
      engines.append(RocksDBEngine.self)
    #endif
    #if canImport(PeerLevelDB)
      engines.append(LevelDBEngine.self)
    #endif
    #if canImport(PeerSQLite)
      engines.append(SQLiteEngine.self)
    #endif
    #if canImport(PeerGRDB)
      engines.append(GRDBEngine.self)
    #endif
    return engines
  }

  static func main() {
    do {
      exit(try run(Array(CommandLine.arguments.dropFirst())))
    } catch {
      FileHandle.standardError.write(Data("treering-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ arguments: [String]) throws -> Int32 {
    var options = Options()
    guard try options.parse(arguments) else { return 0 }
    let chosen = subjects.filter { subject in
      options.filters.isEmpty
        || options.filters.contains { filter in
          options.isExact
            ? subject.name == filter : subject.name.lowercased().contains(filter.lowercased())
        }
    }
    guard !chosen.isEmpty else { throw BenchmarkError("no subject of that name; see --list") }
    let engines =
      Self.engines.filter { type in
        options.engines.isEmpty || options.engines.contains(type.name.lowercased())
      } + [NoEngine.self]
    let base = options.folder + "/treering-bench-\(getpid())"
    try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: base) }
    if let name = options.hotPath {
      guard let path = HotPath.all.first(where: { $0.name == name }) else {
        throw BenchmarkError("no hot path of that name; see --hot-paths")
      }
      print("operations: \(try path.run(base + "/store", MeasuredWork()))")
      return 0
    }
    let report = Report(
      size: options.size, runs: options.runs, usesFixture: options.flights == Options().flights,
      engines: engines.map { $0.name }, printsJSON: options.printsJSON,
      into: options.into.map { (URL(filePath: $0), options.sitting) })
    let context = Context(
      size: options.size, runs: options.runs, engines: engines, report: report,
      flights: options.flights, largest: options.largest, base: base)
    try report.checkFile()
    report.printHeader()
    for subject in chosen { try subject.run(context) }
    if options.printsJSON { try report.printAsJSON() }
    for sentence in report.wrong {
      FileHandle.standardError.write(Data("wrong: \(sentence)\n".utf8))
    }
    return report.wrong.isEmpty ? 0 : 1
  }
}
