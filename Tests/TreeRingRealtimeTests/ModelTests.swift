// Random writes, queries and streams, compared with a naive tree that knows nothing of the product.

import TestSupport
import Testing
import TreeRing

@testable import TreeRingFirebase
@testable import TreeRingRealtime

@Suite struct ModelTests {
  /// Rules that allow everything, with indexes by every key and by value at the first levels.
  private static let rules: String = {
    let names = (SeededGenerator.keys + [".value"]).map { "\"\($0)\"" }.joined(separator: ",")
    let index = "\".indexOn\": [\(names)]"
    let levels = (0..<3).map { "\"$\("abc".dropFirst($0).prefix(1))\": {\(index)," }
    return "{\"rules\": {\".read\": true, \".write\": true, \(index), "
      + levels.joined().dropLast() + "}}}}}"
  }()

  @Test(arguments: seeds(1...30)) func answersEqualThoseOfANaiveTree(seed: UInt64) throws {
    let stage = try RealtimeStage()
    // Every second run has the indexes of all its queries; the others scan.
    if seed % 2 == 0 {
      #expect(stage.setRules(Self.rules).status == 200)
      #expect(stage.store.indexes.map(\.name) == ["rtdb.index"])
    }
    var run = ModelRun(seed: seed, stage: stage)
    for step in 0..<60 {
      try run.write()
      try run.checkStreams(all: step % 9 == 8)
      if step % 4 == 3 { try run.checkReads() }
    }
    try run.checkStreams(all: true)
    try run.checkHistory()
    try run.checkRows()
  }
}

/// One random run.
private struct ModelRun {
  let stage: RealtimeStage
  private let seed: UInt64
  private var random: SeededGenerator
  private var tree = PlainTree()
  /// Clients with the query that each listens to; those beyond the first five read rarely.
  private var clients: [(target: String, client: FoldingClient)] = []
  private var history: [(commit: UInt64, target: String, text: String)] = []

  init(seed: UInt64, stage: RealtimeStage) {
    (self.seed, self.stage) = (seed, stage)
    random = SeededGenerator(seed: seed)
  }

  /// A path; often one that leads to data.
  private mutating func path(_ longest: Int = 3) -> [String] {
    if random.chance(2), !tree.leaves.isEmpty {
      let leaf = random.pick(tree.leaves.keys.sorted { $0.lexicographicallyPrecedes($1) })
      return Array(leaf.prefix(Int.random(in: 0...min(longest, leaf.count), using: &random)))
    }
    return (0..<Int.random(in: 0...longest, using: &random)).map { _ in random.key() }
  }

  // MARK: - Writes

  mutating func write() throws {
    let before = stage.store.newestCommit
    let old = tree
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3:
      let (path, data) = (path(), random.data())
      expect(stage.ask("PUT", target(path), data.json(exporting: true)))
      tree.put(data, at: path)
    case 4: try post()
    case 5, 6: try patch()
    case 7:
      let path = path()
      expect(stage.ask("DELETE", target(path)))
      tree.put(.null, at: path)
    case 8: try priority()
    default: try foreign()
    }
    let isSame = old.leaves == tree.leaves && old.priorities == tree.priorities
    #expect(stage.store.newestCommit == before + (isSame ? 0 : 1), "seed \(seed)")
    if random.chance(12) { try listen() }
  }

  private func expect(_ answer: RealtimeAnswer) {
    #expect(answer.status == 200, "seed \(seed): \(answer.text)")
  }

  private mutating func post() throws {
    let (path, data) = (path(2), random.data(depth: 2))
    let answer = stage.ask("POST", target(path), data.json(exporting: true))
    expect(answer)
    let name = try #require(try FirebaseNode(json: answer.body)["name"].text)
    #expect(name.utf8.count == 20)
    tree.put(data, at: path + [name])
  }

  private mutating func patch() throws {
    let base = path(2)
    var parts: [[String]: PlainData] = [:]
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let path = path(2) + [random.key()]
      if parts.keys.allSatisfy({ !$0.isBelow(path) && !path.isBelow($0) }) {
        parts[path] = random.data(depth: 2)
      }
    }
    let members = parts.map {
      "\"\($0.key.joined(separator: "/"))\": \($0.value.json(exporting: true))"
    }
    expect(stage.ask("PATCH", target(base), "{\(members.joined(separator: ", "))}"))
    // Nulls first: a null below a scalar that is about to be replaced changes nothing.
    for (path, data) in parts { tree.put(data, at: base + path) }
  }

  private mutating func priority() throws {
    let (path, priority) = (path(), random.priority())
    expect(stage.ask("PUT", target(path + [".priority"]), priority.json))
    var data = tree.data(at: path)
    switch data {
    case .leaf(.null, _): return
    case .leaf(let value, _): data = .leaf(value, priority: priority)
    case .object(let members, _): data = .object(members, priority: priority)
    }
    tree.put(data, at: path)
  }

  /// A commit of another program, which deletes and writes rows itself.
  private mutating func foreign() throws {
    guard let leaf = tree.leaves.keys.sorted(by: { $0.joined() < $1.joined() }).first,
      tree.leaves.count > 1
    else { return }
    let key = Key(bytes: TreeKey.leaf(try leaf.map { try FirebaseKey($0) }))
    let value = Int(stage.store.newestCommit) + 100
    let deletes = tree.priorities.isEmpty && random.chance(2)
    try stage.store.write { tx in
      if deletes {
        try tx.delete(key, in: "rtdb")
      } else {
        try tx.put(Array("\(value)".utf8), for: key, in: .bytes("rtdb"))
      }
    }
    let priority = tree.priorities[leaf] ?? .null
    tree.put(deletes ? .null : .leaf(.number(Double(value)), priority: priority), at: leaf)
  }

  // MARK: - Reads

  /// A query's parameters with the keys that it selects by the naive order.
  private mutating func query(at path: [String]) -> (text: String, keys: [String]) {
    let order = random.pick([PlainOrder.key, .value, .priority, .child([random.key()])])
    var parameters = ["orderBy=\(escaped("\"\(Self.name(order))\""))"]
    var keys = order.keys(tree, path)
    func place(_ key: String) -> (Int, PlainScalar) { order.value(tree, path + [key]) }
    for (name, isStart) in [(random.pick(["startAt", "startAfter"]), true), ("endAt", false)]
    where random.chance(2) {
      let name = !isStart && random.chance(2) ? "endBefore" : name
      if order == .key {
        let bound = random.key()
        parameters.append("\(name)=\(escaped("\"\(bound)\""))")
        keys.removeAll { key in
          let isOutside =
            isStart ? PlainOrder.keyPrecedes(key, bound) : PlainOrder.keyPrecedes(bound, key)
          return isOutside || (name == "startAfter" || name == "endBefore") && key == bound
        }
        continue
      }
      let value = random.chance(6) ? PlainScalar.null : random.scalar()
      let bound = random.chance(3) ? random.key() : nil
      parameters.append("\(name)=\(escaped(value.json + (bound.map { ",\"\($0)\"" } ?? "")))")
      let edge = (value.rank, value)
      keys.removeAll { key in
        let (a, b) = isStart ? (place(key), edge) : (edge, place(key))
        if PlainOrder.precedes(a, b) { return true }
        if PlainOrder.precedes(b, a) { return false }
        let isExcluding = name == "startAfter" || name == "endBefore"
        guard let bound else { return isExcluding }
        if key == bound { return isExcluding }
        return PlainOrder.keyPrecedes(key, bound) == isStart
      }
    }
    if random.chance(2) {
      let count = Int.random(in: 1...3, using: &random)
      let isFirst = random.chance(2)
      parameters.append("\(isFirst ? "limitToFirst" : "limitToLast")=\(count)")
      keys = Array(isFirst ? keys.prefix(count) : keys.suffix(count))
    }
    // Without bounds and limit the location is shown whole, even a scalar.
    if parameters.count == 1 { parameters.append("limitToFirst=1000") }
    return (parameters.shuffled(using: &random).joined(separator: "&"), keys)
  }

  private static func name(_ order: PlainOrder) -> String {
    switch order {
    case .key: "$key"
    case .value: "$value"
    case .priority: "$priority"
    case .child(let names): names.joined(separator: "/")
    }
  }

  mutating func checkReads() throws {
    for path in [path(), path(), []] {
      let data = tree.data(at: path)
      let export = stage.get(target(path, "format=export"))
      #expect(try FirebaseNode(json: export.utf8) == data.node(), "seed \(seed) \(path)")
      let plain = stage.ask("GET", target(path), headers: [("x-firebase-etag", "true")])
      #expect(try plain.body == data.node().json, "seed \(seed) \(path)")
      #expect(try plain.header("ETag") == data.node().entityTag, "seed \(seed) \(path)")
      let query = query(at: path)
      let answer = stage.get(target(path, query.text))
      let found = try FirebaseNode(json: answer.utf8).keys.map(\.text).sorted()
      #expect(found == query.keys.sorted(), "seed \(seed) \(path) \(query.text)")
      let shallow = try FirebaseNode(json: stage.get(target(path, "shallow=true")).utf8)
      #expect(shallow.keys.count == tree.keys(at: path).count, "seed \(seed) \(path)")
      history.append((stage.store.newestCommit, target(path, "format=export"), export))
    }
  }

  func checkHistory() throws {
    for (commit, target, text) in history {
      #expect(stage.get("\(target)&at=\(commit)") == text, "seed \(seed) \(target) at \(commit)")
    }
  }

  /// The rows are those of the tree and no others.
  func checkRows() throws {
    let root = try tree.data(at: []).node()
    let rows = try stage.store.snapshot().rows(in: .bytes("rtdb"))
    let expected = try TreeWriter.rows(of: root, at: [])
    #expect(rows.map(\.key.bytes) == expected.map(\.key), "seed \(seed)")
    #expect(rows.map(\.row) == expected.map(\.object), "seed \(seed)")
  }

  // MARK: - Streams

  private mutating func listen() throws {
    let path = path(2)
    var text = random.chance(2) ? "" : query(at: path).text
    if random.chance(2) { text += (text.isEmpty ? "" : "&") + "format=export" }
    let target = target(path, text)
    let reader = try stage.service.stream(stage.request("GET", target))
    clients.append((target, FoldingClient(reader)))
  }

  func checkStreams(all: Bool) throws {
    for (index, (target, client)) in clients.enumerated() where all || index < 5 {
      try client.drain()
      let fresh = stage.get(target)
      let shown = target.contains("export") ? client.node.exportedJSON : client.node.json
      #expect(String(decoding: shown, as: UTF8.self) == fresh, "seed \(seed) \(target)")
      #expect(!client.reader.mayBeDue)
    }
  }
}

extension PlainData {
  fileprivate func node() throws -> FirebaseNode {
    try FirebaseNode(json: json(exporting: true).utf8)
  }
}
