// Every kind of failure has its exit code, on which scripts rely.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog
@testable import treering

@Suite("Exit codes", .leavesSoundStores) struct ExitCodeTests {
  private static let expected: [TreeRingError.Code: treering.ExitStatus] = [
    .notAStore: .io, .unfinishedCopy: .io,
    .corruption: .io, .unsupportedFormat: .io, .locked: .locked, .notFound: .no,
    .alreadyExists: .no, .io: .io, .noSpace: .io, .poisoned: .io, .unknown: .io, .conflict: .no,
    .tooLarge: .badInput, .closed: .bug, .notAllowed: .no, .beyondHorizon: .no,
    .logBehindPages: .io, .snapshotExpired: .no, .storeRewound: .io, .notSupported: .io,
    .invalidInput: .badInput, .dateRefused: .badInput, .indexDefinedInCode: .no,
    .cancelled: .interrupted, .notUnique: .no, .referenceMissing: .no, .restricted: .no,
    .notSummable: .no, .notLeader: .no, .unavailable: .io, .diverged: .io,
    .wrongExpectedRevision: .no, .newerVersion: .io,
  ]

  @Test("Every code of an error that the library declares has an exit code")
  func codes() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/TreeRingLog/Errors/TreeRingError.swift")
    let text = try String(contentsOf: file, encoding: .utf8)
    let declared = text.matches(of: #/static let \w+ = Code\("(\w+)"\)/#)
      .map { TreeRingError.Code(String($0.1)) }
    #expect(Set(declared) == Set(Self.expected.keys))
    for code in declared {
      #expect(Failure.status(of: code) == Self.expected[code], "\(code)")
      let failure = Failure(TreeRingError(code, "A sentence."))
      #expect(failure.status == Self.expected[code], "\(code)")
    }
    #expect(Failure(TreeRingError(.init("newer"), "A sentence.")).status == .bug)
  }

  @Test("A row that another process may still show is not erased: exit code 75")
  func eraseBesideReader() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/s.ring"
    let store = try Store(at: path)
    try store.write { try $0.put(Array("1".utf8), for: "k", in: .bytes("b")) }
    try store.close()
    let watcher = try Child("treering", ["watch", path, "--from", "1", "--json"])
    try watcher.process.run()
    #expect(try #require(watcher.line()).hasPrefix("{\"commit\":1,"))
    let eraser = try Child("treering", ["erase", path, "b", "k"])
    try eraser.process.run()
    eraser.process.waitUntilExit()
    #expect(eraser.process.terminationStatus == 75)
    watcher.process.interrupt()
    watcher.process.waitUntilExit()
    #expect(watcher.process.terminationStatus == 130)
    let again = try Child("treering", ["erase", path, "b", "k"])
    try again.process.run()
    again.process.waitUntilExit()
    #expect(again.process.terminationStatus == 0)
  }
}
