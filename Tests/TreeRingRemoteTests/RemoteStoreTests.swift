// Counts and sums of a server's store, compared with the store's own.

import Foundation
import TestSupport
import Testing
import TreeRingHTTP
import TreeRingLive
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingRemote

private struct Order: Codable { var customer: String, day: Int, amount: Int }

/// Answers requests by the service, after faults of the network.
private final class QuestionServer: HTTPTransport {
  let service: LiveService
  let access: LiveAccess
  private let state = Mutex<(lossCount: Int, targets: [String])>((0, []))

  init(_ service: LiveService, _ access: LiveAccess = LiveAccess(.read)) {
    self.service = service
    self.access = access
  }

  var lossCount: Int {
    get { state.withLock(\.lossCount) }
    set { state.withLock { $0.lossCount = newValue } }
  }
  var targets: [String] { state.withLock(\.targets) }

  func send(_ request: HTTPRequest) -> AnswerStream {
    AnswerStream { continuation in
      let target = request.url.absoluteString.replacing("http://127.0.0.1:8700", with: "")
      let isLost = state.withLock { state in
        state.targets.append(target)
        state.lossCount -= 1
        return state.lossCount >= 0
      }
      if isLost { return continuation.finish(throwing: ConnectionLost(reason: "lost")) }
      let answer = service.answer(
        LiveRequest(method: request.method, target: target), for: access)
      continuation.yield(.head(status: answer.status, headers: [:]))
      continuation.yield(.bytes(answer.body))
      continuation.finish()
    }
  }
}

/// Gives every request the same answer.
private struct FixedAnswer: HTTPTransport {
  let body: String

  func send(_ request: HTTPRequest) -> AnswerStream {
    AnswerStream { continuation in
      continuation.yield(.head(status: 200, headers: [:]))
      continuation.yield(.bytes(Array(body.utf8)))
      continuation.finish()
    }
  }
}

@Suite("Counts and sums of a server") struct RemoteStoreTests {
  private let orders = Bucket<Order>("orders")
  private static let customers = ["ann", "böb/x", "{\"$base64\":\"YQ==\"}", "10"]

  private func store(seed: UInt64) throws -> Store {
    var random = SeededGenerator(seed: seed)
    let store = try Store.inMemory()
    try store.define(
      "by",
      FieldIndex(on: orders, group: "customer", order: [.init("day")])
        .summing("amount", decimals: 1))
    try store.define("plain", FieldIndex(on: orders, group: "customer", order: []))
    for _ in 0..<30 {
      try store.write { tx in
        for _ in 0..<3 {
          let order = Order(
            customer: Self.customers.randomElement(using: &random) ?? "",
            day: .random(in: 0..<6, using: &random), amount: .random(in: -9...9, using: &random))
          let key = Int.random(in: 0..<60, using: &random)
          // A key that begins as base 64 in JSON, and one that is no text.
          if key == 0 {
            try tx.put(order, for: "{\"$base64\":1", in: orders)
          } else if key == 1 {
            try tx.put(order, for: Key(bytes: [0xFF, 0x25]), in: orders)
          } else {
            try tx.put(order, for: key, in: orders)
          }
        }
      }
    }
    return store
  }

  private func remote(_ server: any HTTPTransport, attempts: Int = 3) throws -> RemoteStore {
    let address = try #require(URL(string: "http://127.0.0.1:8700/#token=secret"))
    return try RemoteStore(
      at: address,
      options: RemoteOptions(
        firstDelay: .milliseconds(1), attempts: attempts, transport: server))
  }

  @Test(
    "Counts by conditions, of indexes, groups and ranges, and sums agree with the store's own",
    arguments: seeds(1...4))
  func agreement(seed: UInt64) async throws {
    let store = try store(seed: seed)
    var limits = LiveLimits()
    limits.examinedRows = 7
    let server = QuestionServer(LiveService(store, limits: limits))
    let remote = try remote(server)
    for point in [nil, ReadPoint.commit(12), .commit(store.newestCommit)] {
      let snapshot = try point.map { try store.snapshot(at: $0) } ?? store.snapshot()
      for conditions in [[], ["day>2"], ["customer=ann", "amount<3"], ["customer^=b", "day!=1"]] {
        let filter = try RowFilter(conditions)
        var wanted = 0
        try snapshot.forEachRow(in: orders) { row in
          if row.object.withUnsafeBytes(filter.fits) { wanted += 1 }
          return true
        }
        let found = try await remote.count(in: orders, where: conditions, at: point)
        #expect(found == RemoteCount(commit: snapshot.commit, count: wanted), "seed \(seed)")
      }
      let reader = try snapshot.index("by")
      let all = try await remote.count(of: "by", at: point)
      #expect(all == RemoteCount(commit: snapshot.commit, count: reader.count), "seed \(seed)")
      let total = try await remote.sum(of: "by", at: point)
      let sum = try reader.sum()
      #expect(
        total == RemoteSum(commit: snapshot.commit, count: reader.count, sum: sum), "seed \(seed)")
      for customer in Self.customers + ["nobody"] {
        let bounds: [(String?, String?)] = [(nil, nil), ("2", nil), (nil, "4"), ("1", "3")]
        for (lower, upper) in bounds {
          let group = GroupName(customer)
          let positions = try snapshot.positions(in: group, of: reader, from: lower, to: upper)
          let sum = try reader.sum(in: group, positions)
          let counted = try await remote.count(
            of: "by", in: customer, from: lower, to: upper, at: point)
          #expect(counted.count == positions.count, "seed \(seed), \(customer)")
          let summed = try await remote.sum(
            of: "by", in: customer, from: lower, to: upper, at: point)
          #expect(summed.sum == sum && summed.count == positions.count, "seed \(seed), \(customer)")
        }
      }
    }
    #expect(server.targets.contains { $0.contains("from=") })
    try await store.close()
  }

  @Test("A lost connection is tried again; a refusal is an error with the server's sentence")
  func failures() async throws {
    let store = try store(seed: 9)
    let server = QuestionServer(LiveService(store))
    let remote = try remote(server)
    server.lossCount = 2
    let wanted = try store.snapshot().count(in: orders)
    #expect(try await remote.count(in: orders).count == wanted)
    server.lossCount = 3
    let unreachable = await code { _ = try await remote.count(in: orders) }
    #expect(unreachable == .unreachable)
    server.lossCount = 0
    let missing = await error { _ = try await remote.count(of: "none") }
    #expect(missing?.code == .notFound)
    #expect(missing?.serverText?.contains("by (orders: field customer by day") == true)
    #expect(await code { _ = try await remote.count(in: "none") } == .notFound)
    #expect(await code { _ = try await remote.count(in: orders, at: .tag("x")) } == .notFound)
    let malformed = await code { _ = try await remote.count(in: orders, where: ["day"]) }
    #expect(malformed == .invalidInput)
    #expect(await code { _ = try await remote.sum(of: "plain") } == .invalidInput)
    let limited = try self.remote(
      QuestionServer(LiveService(store), LiveAccess(.read, buckets: ["other"])))
    #expect(await code { _ = try await limited.count(in: orders) } == .notAllowed)
    #expect(await code { _ = try await limited.sum(of: "by", in: "ann") } == .notAllowed)
    try await store.close()
  }

  @Test(
    "An answer that is no count is malformed, whatever its numbers",
    arguments: [
      #"{"commit":1,"count":-1}"#, #"{"commit":1}"#, #"{"count":1}"#, "[]", "",
      #"{"commit":1,"count":99999999999999999999}"#,
      // The sum of two pages overflows.
      #"{"commit":1,"count":9223372036854775807,"next":"k"}"#,
    ])
  func malformed(body: String) async throws {
    let remote = try remote(FixedAnswer(body: body), attempts: 1)
    let found = await code { _ = try await remote.count(in: orders, where: ["day>1"]) }
    #expect(found == .malformed)
  }

  private func error(_ body: () async throws -> Void) async -> RemoteError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? RemoteError
    }
  }

  private func code(_ body: () async throws -> Void) async -> RemoteError.Code? {
    await error(body)?.code
  }

  @Test("A sum is read from the text that its description writes, and from no other")
  func sums() {
    for (units, decimals) in [(0, 0), (-5, 1), (5, 2), (123_456, 3), (-100, 2), (7, 0)] {
      let sum = IndexSum(units: Int128(units), decimals: decimals)
      #expect(IndexSum(sum.description) == sum)
    }
    for text in ["", "-", ".5", "1.", "+1", "01", "1.2.3", "1e3", "null", "-0"] {
      #expect(IndexSum(text) == nil, "\(text)")
    }
  }
}
