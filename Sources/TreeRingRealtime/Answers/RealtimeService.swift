// A database of Firebase in a store, without a network. A request comes in, an answer goes out;
// `stream` makes the readers that last.
//
// The server calls it on threads that may block: answers read the store, and writes wait until they
// are durable.

public import TreeRing
internal import TreeRingFirebase
internal import TreeRingLive
internal import TreeRingLog
internal import TreeRingPlatform

/// The databases in a store.
public final class RealtimeService: Sendable {
  /// The store.
  public let store: Store
  /// The options.
  public let options: RealtimeOptions
  /// Whether clients may write, as far as their tokens and the rules allow it.
  public let isWritable: Bool

  let authority: Authority
  let recent = RecentWrites()
  let pushIDs = PushIDs()
  private let rules = Mutex<[Database: CompiledRules]>([:])
  private let observer = Mutex<(@Sendable () -> Void)?>(nil)

  /// Serves the databases of a store.
  ///
  /// - Parameters:
  ///   - store: The store, which stays open as long as it is served.
  ///   - isWritable: Whether clients may write. A store open for reading refuses anyway.
  ///   - options: The options.
  public init(_ store: Store, isWritable: Bool = false, options: RealtimeOptions = .init()) {
    self.store = store
    self.options = options
    self.isWritable = isWritable && store.options.mode != .readOnly
    authority = Authority(options: options)
    defineIndexes()
  }

  /// Calls a closure after each write, when streams can send it.
  public func observeWrites(_ body: @escaping @Sendable () -> Void) {
    observer.withLock { $0 = body }
  }

  func noteWrite() { observer.withLock { $0 }?() }

  /// The answer to a request. Mistakes and failures become answers with an error object.
  public func answer(_ request: RealtimeRequest) -> RealtimeAnswer {
    do {
      let context = try RequestContext(request, authority, now: RequestContext.now)
      return try AnswerMaker(service: self, context: context).answer()
    } catch {
      return RealtimeAnswer(RealtimeError(error))
    }
  }

  /// The events of a location, as a request for `text/event-stream` asks for them.
  ///
  /// - Throws: The answer that refuses the request.
  public func stream(_ request: RealtimeRequest) throws(RealtimeRefusal) -> EventReader {
    let result = Result { try EventReader(self, request) }
    switch result {
    case .success(let reader): return reader
    case .failure(let error):
      throw RealtimeRefusal(answer: RealtimeAnswer(RealtimeError(error)))
    }
  }

  /// The rules of a database, as they are in a snapshot or transaction.
  func rules(of database: Database, in source: some Readable) throws -> CompiledRules {
    let key = Key(database.rulesKey)
    guard let written = try source.written(key, in: Database.rulesBucket) else {
      return CompiledRules(
        written: 0, rules: Ruleset(allowing: options.isEmulator), isOpen: options.isEmulator)
    }
    if let known = rules.withLock({ $0[database] }), known.written == written { return known }
    let text = try source.row(key, in: Database.rulesBucket)?.object ?? []
    // Rules that another program wrote with an error forbid everything.
    let compiled = CompiledRules(
      written: written, rules: (try? Ruleset(text)) ?? Ruleset(allowing: false), isOpen: false)
    rules.withLock { $0[database] = compiled }
    return compiled
  }
}

extension RealtimeService {
  /// Defines the indexes of all databases with rules.
  private func defineIndexes() {
    guard let snapshot = try? store.snapshot() else { return }
    var databases: [Database] = []
    try? snapshot.forEachRow(in: Database.rulesBucket) { row in
      if let database = Database(rulesKey: row.key.description) { databases.append(database) }
      return true
    }
    for database in databases { defineIndex(of: database) }
  }

  /// Defines the index of a database as its rules name it. Without it, queries scan: so a failure
  /// costs time and nothing else.
  func defineIndex(of database: Database) {
    guard let snapshot = try? store.snapshot(),
      let plan = try? rules(of: database, in: snapshot).plan
    else { return }
    if !plan.isEmpty {
      _ = try? store.register(plan.index(database.indexName, bucket: database.bucket))
    } else if isWritable, snapshot.indexes.contains(where: { $0.name == database.indexName }) {
      _ = try? store.removeIndex(database.indexName)
    }
  }

  /// The index of a database at a snapshot; nil if it has none for these rules, or if the query
  /// needs none.
  func index(
    for query: ChildQuery?, _ database: Database, _ rules: CompiledRules, in snapshot: Snapshot
  ) -> IndexReader? {
    guard let query, query.isFiltering, query.indexName != nil, !rules.plan.isEmpty else {
      return nil
    }
    let info = snapshot.indexes.first { $0.name == database.indexName }
    guard info?.version == rules.plan.version else { return nil }
    return try? snapshot.index(database.indexName)
  }
}

/// Rules in the form for decisions.
struct CompiledRules: Sendable {
  /// The commit that wrote them; 0 without rules.
  let written: CommitNumber
  let rules: Ruleset
  /// Whether there are none and everything is allowed: then queries need no index either.
  let isOpen: Bool
  let plan: IndexPlan

  init(written: CommitNumber, rules: Ruleset, isOpen: Bool) {
    self.written = written
    self.rules = rules
    self.isOpen = isOpen
    plan = IndexPlan(rules)
  }
}

/// A stream that is refused, with the answer.
public struct RealtimeRefusal: Error {
  /// The answer.
  public let answer: RealtimeAnswer
}
