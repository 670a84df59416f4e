// The judgement of commits that writers made under faults.

import Foundation
import Testing
import TreeRing
import TreeRingReplication

/// The commits of a writer have notes of two numbers: the writer's, and one that grows from commit
/// to commit. Expects each acknowledged commit in the store once, those of a writer in their order,
/// and no commit twice.
/// - Returns: The number of acknowledged commits.
func expectCommits(of store: Store, acknowledged: [Int: [Int]]) throws -> Int {
  var seen: [Int: [Int]] = [:]
  for commit in 1...store.newestCommit {
    guard let note = try store.commit(commit).note else { continue }
    let parts = note.split(separator: " ").compactMap { Int($0) }
    seen[parts[0], default: []].append(parts[1])
  }
  for (writer, rounds) in acknowledged {
    let found = seen[writer] ?? []
    #expect(Set(found).count == found.count, "writer \(writer) has a commit twice")
    let known = Set(rounds)
    #expect(found.filter(known.contains) == rounds, "writer \(writer)")
  }
  return acknowledged.values.reduce(0) { $0 + $1.count }
}

/// Expects replicas to have the same commits and the same rows, once they have caught up.
func expectEqual<Row: Codable & Equatable & Sendable>(
  _ replicas: [Replica], in bucket: Bucket<Row>
) throws {
  for replica in replicas { try replica.catchUp() }
  let newest = replicas.map(\.store.newestCommit)
  #expect(Set(newest).count == 1, "\(newest)")
  let rows = try replicas.map { try $0.store.snapshot().rows(in: bucket).map(\.row) }
  #expect(rows.allSatisfy { $0 == rows[0] })
}

/// A repeatable generator. Source: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
