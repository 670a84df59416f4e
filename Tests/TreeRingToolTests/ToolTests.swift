import Foundation
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite struct ToolTests {
  @Test("Every script prints its recorded output", arguments: GoldenScript.all)
  func script(_ name: String) throws { try GoldenScript(name).run() }

  /// A process of the tool in its own folder.
  private struct Run {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let process = Process()
    let input = Pipe()
    let errors = Pipe()
    var store: String { folder.path + "/s.ring" }

    init(_ arguments: (String) -> [String]) throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let products = try #require(GoldenScript.products, "the tool must have been built")
      process.executableURL = products.appending(path: "treering")
      process.arguments = arguments(folder.path + "/s.ring")
      process.standardInput = input
      process.standardOutput = FileHandle.nullDevice
      process.standardError = errors
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
  }

  private func put(_ key: String) -> Data {
    Data("{\"ops\":[[\"put\",\"b\",\"\(key)\",1]]}\n".utf8)
  }

  @Test("A store that another process writes is refused with exit code 75")
  func locked() throws {
    let run = try Run { ["put", $0, "b", "k", "1"] }
    defer { run.remove() }
    let store = try Store(at: run.store)
    try run.process.run()
    run.process.waitUntilExit()
    #expect(run.process.terminationStatus == 75)
    try store.close()
  }

  @Test("Ctrl-C ends an import that waits for input with exit code 130 and a whole store")
  func interrupted() throws {
    let run = try Run { ["import", $0] }
    defer { run.remove() }
    try run.process.run()
    for key in ["a", "b", "c"] { run.input.fileHandleForWriting.write(put(key)) }
    // Half a line, which the tool drops.
    run.input.fileHandleForWriting.write(put("d").dropLast(9))
    while run.process.isRunning, newestCommit(of: run.store) < 3 { usleep(2_000) }
    run.process.interrupt()
    run.process.waitUntilExit()
    #expect(run.process.terminationStatus == 130)
    let store = try Store(at: run.store)
    #expect(store.newestCommit == 3)
    #expect(try store.checkInvariants() == [])
    try store.close()
  }

  private func newestCommit(of path: String) -> CommitNumber {
    guard let store = try? Store(at: path, options: StoreOptions(mode: .readOnly)) else { return 0 }
    return store.newestCommit
  }

  @Test("Export and import give an equal store, for any bytes")
  func roundTrip() throws {
    let run = try Run { ["export", $0] }
    defer { run.remove() }
    let store = try Store(at: run.store)
    let contents: [[UInt8]] = [
      [], [0], [255, 0], Array("{ \"a\": 1 }".utf8), Array("{\"$base64\":\"AA==\"}".utf8),
      Array("{\"a\":1}".utf8), Array("\"\\u0000\"".utf8), [UInt8](repeating: 7, count: 5_000),
    ]
    for (index, content) in contents.enumerated() {
      try store.write { tx in
        tx.note = "note \(index)\n"
        if index % 2 == 0 { tx.tags = ["t\(index)", "moving"] }
        let key = Key(bytes: content.prefix(20))
        try tx.put(content, metadata: content, for: key, in: .bytes("b\"\(index % 3)"))
        if index > 3 {
          try tx.touch(key, in: "b\"\(index % 3)")
          try tx.delete(Key(bytes: contents[1]), in: "b\"1")
          try tx.tag("moving", commit: 2)
        }
      }
    }
    try store.close()

    let copy = run.folder.appending(path: "copy.ring").path
    let tool = try #require(run.process.executableURL).path
    let pipe = Process()
    pipe.executableURL = URL(filePath: "/bin/bash")
    pipe.arguments = [
      "-c", "set -o pipefail; '\(tool)' export '\(run.store)' | '\(tool)' import '\(copy)'",
    ]
    pipe.standardOutput = FileHandle.nullDevice
    try pipe.run()
    pipe.waitUntilExit()
    #expect(pipe.terminationStatus == 0)
    let options = StoreOptions(mode: .readOnly)
    let (old, new) = (
      try Store(at: run.store, options: options), try Store(at: copy, options: options)
    )
    #expect(old.newestCommit == new.newestCommit)
    for number in 1...old.newestCommit {
      let (a, b) = (try old.operations(of: number), try new.operations(of: number))
      #expect(a.operations == b.operations)
      #expect(a.info.timestamp == b.info.timestamp && a.info.note == b.info.note)
      #expect(a.info.tags == b.info.tags)
    }
    #expect(try old.snapshot().tags() == new.snapshot().tags())
  }
}
