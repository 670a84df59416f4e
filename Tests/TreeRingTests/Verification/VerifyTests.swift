// Verification as a call of the library.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Verifying a store")
struct VerifyTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/s.ring" }

  init() throws {
    folder = try TemporaryFolder()
    let store = try Store(
      at: folder.path + "/s.ring", options: StoreOptions(durability: .unsynced, logger: quietLogger)
    )
    try store.define(
      "ByGroup", FieldIndex(bucket: "notes", group: "group", order: [.init("number")]))
    for number in 0..<50 {
      try store.put(Note(group: "g\(number % 3)", number: number), for: Key("\(number)"))
    }
    try store.close()
  }

  @Test("A sound store has no findings, closed or open, in both forms")
  func sound() async throws {
    let seen = Atomic<Int>(0)
    let report = try await Store.verify(path, comparesIndexes: true) {
      seen.store(Int($0.doneByteCount), ordering: .relaxed)
    }
    #expect(report == VerificationReport(newestCommit: 51))
    #expect(seen.load(ordering: .relaxed) > 0)
    let store = try Store(at: path)
    try await store.write { tx in try tx.delete("1", in: notes) }
    let again = try Store.blocking { try Store.verify(path) }
    #expect(again == VerificationReport(newestCommit: 52))
    try await store.close()
  }

  @Test("A changed byte of the log or of the page file is a finding with its file")
  func damage() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: path + "/log")
    for file in ["pages", "log/\(try #require(names.first))"] {
      let url = URL(filePath: "\(path)/\(file)")
      let sound = try Data(contentsOf: url)
      var damaged = sound
      if file == "pages" {
        // Every page but the two metas: some are free.
        for offset in stride(from: 8_200, to: sound.count, by: 4_096) { damaged[offset] ^= 0xFF }
      } else {
        damaged[sound.count / 2] ^= 0xFF
      }
      try damaged.write(to: url)
      let report = try Store.verify(path)
      #expect(report.findings.first?.file == "\(path)/\(file)", "\(report.findings)")
      #expect(report.newestCommit == 0 && !report.isPartial)
      try sound.write(to: url)
      #expect(try Store.verify(path).findings == [])
    }
  }

  @Test("A folder without a store, and an unfinished copy, are errors")
  func absent() throws {
    for other in [folder.path, folder.path + "/none"] {
      let error = #expect(throws: TreeRingError.self) { try Store.verify(other) }
      #expect(error?.code == .notFound && error?.message.contains(other) == true)
    }
    #expect(throws: TreeRingError.self) {
      try Store(at: path).backUp(to: folder.path + "/copy") { _ in false }
    }
    let error = #expect(throws: TreeRingError.self) { try Store.verify(folder.path + "/copy") }
    #expect(error?.code == .unfinishedCopy)
  }
}
