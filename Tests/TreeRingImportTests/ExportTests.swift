import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingImport
@testable import TreeRingLog

@Suite("Exports of a store, and stores made of them") struct ExportTests {
  private let blobs = Bucket<[UInt8]>.bytes("b")

  private func put(_ object: String, _ key: String, in store: Store) throws {
    _ = try store.write { try $0.put(Array(object.utf8), for: Key(key), in: blobs) }
  }

  private func csv(of store: Store, keyColumn: String? = nil) throws -> String {
    var text = ""
    try store.snapshot().exportCSV(of: "b", keyColumn: keyColumn) {
      text += String(decoding: $0, as: UTF8.self)
    }
    return text
  }

  private func store() throws -> Store {
    try Store.inMemory(options: StoreOptions(durability: .unsynced, logger: quietLogger))
  }

  @Test("The asynchronous exports give the same lines, and end with their task")
  func asynchronous() async throws {
    let store = try store()
    for number in 0..<20 { try put(#"{"a":\#(number)}"#, "k\(number)", in: store) }
    let snapshot = try store.snapshot()
    let expected = try Store.blocking {
      var all: [[UInt8]] = [[], [], []]
      try store.exportCommits { lines, _ in all[0] += lines }
      try snapshot.exportRows { all[1] += $0 }
      try snapshot.exportCSV(of: "b") { all[2] += $0 }
      return all
    }
    let found = Mutex([[UInt8]](repeating: [], count: 3))
    try await store.exportCommits { lines, _ in found.withLock { $0[0] += lines } }
    try await snapshot.exportRows { line in found.withLock { $0[1] += line } }
    try await snapshot.exportCSV(of: "b") { record in found.withLock { $0[2] += record } }
    #expect(found.withLock { $0 } == expected)
    for export in 0..<3 {
      let (count, cancellation) = (Counter(), Counter())
      let task = Task {
        let stop: @Sendable () -> Void = {
          _ = count.next()
          while cancellation.count == 0 { usleep(100) }
        }
        switch export {
        case 0: try await store.exportCommits { _, _ in stop() }
        case 1: try await snapshot.exportRows { _ in stop() }
        default: try await snapshot.exportCSV(of: "b") { _ in stop() }
        }
      }
      task.cancel()
      _ = cancellation.next()
      let error = await #expect(throws: TreeRingError.self) { try await task.value }
      #expect(error?.code == .cancelled)
      #expect(count.count <= 1)
    }
  }

  @Test("Sums in code keep their decimals in another store; too many decimals are refused")
  func sumsInCode() throws {
    let source = try store()
    try source.register(
      GroupIndex("Sums", on: blobs, version: 2) { (_: [UInt8]) in Place(in: "all") }
        .summing(in: blobs, decimals: 2) { $0.count })
    try put("abc", "k", in: source)
    var lines: [UInt8] = []
    try source.exportCommits { part, _ in lines += part }
    let definition = #"["index","Sums",{"code":["b"],"version":2,"decimals":2}]"#
    #expect(String(decoding: lines, as: UTF8.self).contains(definition))
    let copy = try store()
    func copyAll(_ lines: [UInt8]) throws {
      var commits = CommitReader(LineReader(bytes: lines))
      while try commits.next() {
        try copy.write { tx in
          tx.keepsRules = false
          try commits.line.apply(to: tx)
        }
      }
    }
    try copyAll(lines)
    #expect(copy.indexes.map(\.sumDecimals) == [2])
    for decimals in ["19", "-1", "\"2\""] {
      let line = #"{"ops":[["index","Bad",{"code":["b"],"version":1,"decimals":\#(decimals)}]]}"#
      #expect("\(decimals)") {
        try copyAll(Array(line.utf8))
      } throws: {
        ($0 as? TreeRingError)?.code == .invalidInput
      }
    }
  }

  @Test("A store made of another's commits has the same rows, dates, notes and tags")
  func commits() throws {
    let source = try store()
    for number in 1...300 {
      try source.write { tx in
        tx.timestamp = Timestamp(microseconds: Int64(number))
        tx.note = "note \(number)"
        if number % 10 == 0 { tx.tags = ["t\(number)"] }
        try tx.put(Array(repeating: 65, count: number), for: Key("\(number % 17)"), in: blobs)
        if number % 5 == 0 { try tx.delete(Key("\(number % 3)"), in: blobs) }
      }
    }
    var lines: [UInt8] = []
    var counts: [UInt64] = []
    try source.exportCommits {
      lines += $0
      counts.append($1)
    }
    #expect(counts.count > 1 && counts == counts.sorted() && counts.last == 300)
    let copy = try store()
    var commits = CommitReader(LineReader(bytes: lines))
    while try commits.next() { try copy.write { try commits.line.apply(to: $0) } }
    #expect(copy.newestCommit == 300)
    for number: CommitNumber in [1, 20, 299, 300] {
      let (old, new) = try (source.commit(number), copy.commit(number))
      #expect(old.timestamp == new.timestamp && old.note == new.note && old.tags == new.tags)
    }
    var again: [UInt8] = []
    try copy.exportCommits { lines, _ in again += lines }
    #expect(again == lines)
    var part = 0
    try source.exportCommits(from: 7, through: 9) { lines, _ in
      part += lines.count { $0 == UInt8(ascii: "\n") }
    }
    #expect(part == 3)
  }

  @Test("The history of a compacted store begins with a base, which cannot be applied")
  func bases() throws {
    let source = try store()
    for number in 1...20 { try put("\(number)", "k", in: source) }
    try source.compact(to: .before(15))
    var lines: [UInt8] = []
    try source.exportCommits { piece, _ in lines += piece }
    var commits = CommitReader(LineReader(bytes: lines))
    #expect(try commits.next() && commits.line.base == source.horizon)
    let copy = try store()
    let error = #expect(throws: TreeRingError.self) {
      try copy.write { try commits.line.apply(to: $0) }
    }
    #expect(error?.code == .invalidInput && copy.newestCommit == 0)
  }

  @Test("A bad line is named, and the commits before it are kept") func badLine() throws {
    let store = try store()
    var commits = CommitReader(LineReader(bytes: Array("{\"ops\":[]}\n{\"op\":[]}\n".utf8)))
    let error = #expect(throws: TreeRingError.self) {
      while try commits.next() { try store.write { try commits.line.apply(to: $0) } }
    }
    #expect(error?.code == .invalidInput && error?.line == 2 && error?.offset == 1)
    #expect(store.newestCommit == 1)
  }

  @Test("Rows are lines of JSON, exact for any bytes") func rows() throws {
    let source = try store()
    try put("{\"a\":1}", "k", in: source)
    try put("{ }", "l", in: source)
    var text = ""
    try source.snapshot().exportRows { text += String(decoding: $0, as: UTF8.self) }
    #expect(
      text == """
        {"bucket":"b","key":"k","object":{"a":1}}
        {"bucket":"b","key":"l","object":{"$base64":"eyB9"}}

        """)
  }

  @Test("CSV has a column for each member, and reads back as the same values") func csv() throws {
    let source = try store()
    let objects = [
      #"{"k":"1","a":1.50,"b":"x, \"y\""}"#, #"{"k":"2","c":"","a":null}"#,
      #"{"k":"3","a":"-7","b":"two\nlines\r\n","d":"{"}"#,
    ]
    for (index, object) in objects.enumerated() { try put(object, "\(index + 1)", in: source) }
    let text = try csv(of: source)
    #expect(
      text == """
        k,a,b,c,d
        "1",1.50,"x, ""y""\",,
        "2",,,"",
        "3","-7","two
        lines\r
        ",,"{"

        """)
    var rows = try RowReader(LineReader(bytes: Array(text.utf8)), key: "k")
    var read: [String] = []
    while try rows.next() { read.append(String(decoding: rows.object, as: UTF8.self)) }
    #expect(
      read == [
        #"{"k":"1","a":1.50,"b":"x, \"y\"","c":null,"d":null}"#,
        #"{"k":"2","a":null,"b":null,"c":"","d":null}"#,
        #"{"k":"3","a":"-7","b":"two\nlines\r\n","c":null,"d":"{"}"#,
      ])
    #expect(try csv(of: source, keyColumn: "id").hasPrefix("id,k,a,b,c,d\n\"1\",\"1\",1.50,"))
    #expect(try csv(of: source, keyColumn: "a").hasPrefix("a,k,b,c,d\n\"1\",\"1\","))
  }

  @Test("Other values become their JSON, and a row that is no JSON object is refused")
  func csvOfOthers() throws {
    let source = try store()
    try put(#"{"a":true,"b":[1,2],"c":{"d":"e"},"a":false}"#, "k", in: source)
    #expect(try csv(of: source) == "a,b,c\nfalse,\"[1,2]\",\"{\"\"d\"\":\"\"e\"\"}\"\n")
    for object in ["[1]", "1", "x", "", #"{"a":"\ud800"}"#] {
      try put(object, "l", in: source)
      let error = #expect(throws: TreeRingError.self, "\(object)") { try csv(of: source) }
      #expect(error?.code == .invalidInput)
      #expect(error?.message.contains("b/l") == true)
    }
  }
}
