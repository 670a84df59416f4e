// Bases: a store is copied from a server that goes on, whatever happens on the way.

import Foundation
import TestSupport
import Testing
import TreeRingHTTP
import TreeRingLive
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog
@testable import TreeRingRemote

@Suite("Bases from a server")
struct BaseTests {
  private let bytes = Bucket<[UInt8]>.bytes("rows")
  private var server: URL {
    get throws { try #require(URL(string: "http://127.0.0.1:8700/#token=secret")) }
  }
  private let once = RemoteOptions(firstDelay: .milliseconds(1), attempts: 1)

  /// A store of many segments on a disk.
  private func store(_ disk: MemoryFileSystem, rows: Int = 200) throws -> Store {
    let store = try Store(
      path: "a", fileSystem: disk,
      options: StoreOptions(segmentSize: 4 << 10, logger: quietLogger))
    for number in 0..<rows { try put(number, in: store) }
    return store
  }

  private func put(_ number: Int, in store: Store) throws {
    var random = SeededGenerator(seed: UInt64(number))
    let object = (0..<150).map { _ in UInt8.random(in: 0...255, using: &random) }
    try store.write { try $0.put(object, for: Key("k\(number % 60)"), in: bytes) }
  }

  private func service(_ store: Store) -> LiveService {
    var limits = LiveLimits()
    limits.basePieceByteCount = 1_000
    return LiveService(store, limits: limits)
  }

  private func contents(_ snapshot: Snapshot) throws -> [String] {
    try snapshot.rows(in: bytes).map { "\($0.key) \($0.row)" }
  }

  @discardableResult
  private func fetch(
    _ server: BaseServer, to disk: MemoryFileSystem, _ options: RemoteOptions? = nil
  ) async throws -> CopyReport {
    var options = options ?? RemoteOptions(firstDelay: .milliseconds(1), attempts: 5)
    options.transport = server
    return try await Store.restore(from: self.server, to: "b", on: disk, options: options)
  }

  /// Opens the copy, and compares it with a commit of the store.
  private func check(_ disk: MemoryFileSystem, _ commit: CommitNumber, of store: Store) throws {
    let copy = try Store(
      path: "b", fileSystem: disk, options: StoreOptions(logger: quietLogger))
    #expect(copy.newestCommit == commit)
    #expect(copy.identifier == store.identifier)
    let isSame = try contents(copy.snapshot()) == contents(store.snapshot(at: .commit(commit)))
    #expect(isSame)
    #expect(try copy.checkInvariants() == [])
    try copy.close()
  }

  @Test("A base is the state of its beginning, while the store is written, sealed and compacted")
  func concurrentChanges() async throws {
    let (source, disk) = (MemoryFileSystem(), MemoryFileSystem())
    let store = try store(source)
    let server = BaseServer(service(store)) { number, _ in
      // A base needs some sixty pieces.
      if number > 1 { try self.put(1_000 + number, in: store) }
      if number % 20 == 10 {
        try store.checkpoint()
        try store.compact(to: .before(150))
      }
      return nil
    }
    let report = try await fetch(server, to: disk)
    #expect(report.lastCommit == 200 && report.copiedByteCount == report.byteCount)
    #expect(report.segmentCount > 5 && server.count > 40)
    #expect(store.horizon == 150 && store.newestCommit > 240)
    #expect(server.flaws == [] && server.service.baseCount == 0)
    try check(disk, 200, of: store)
    try await store.close()
  }

  @Test("After each lost connection the transfer goes on, also in another attempt")
  func interrupted() async throws {
    let (source, disk) = (MemoryFileSystem(), MemoryFileSystem())
    let store = try store(source)
    let lossy = BaseServer(service(store)) { number, _ in number % 7 == 0 ? .lost(after: 500) : nil
    }
    for _ in 0..<200 {
      let before = lossy.count
      do {
        let report = try await fetch(lossy, to: disk, once)
        #expect(report.copiedByteCount <= 6_000 && report.keptByteCount > 6_000)
        break
      } catch let error as RemoteError {
        #expect(error.code == .unreachable && lossy.count > before)
        let opened = Result { try Store(path: "b", fileSystem: disk, options: StoreOptions()) }
        #expect(throws: TreeRingError.self) { try opened.get() }
        // The next attempt has a manifest of its own; what it shares with the earlier ones stays.
        try put(2_000, in: store)
      }
    }
    try check(disk, store.newestCommit, of: store)
    // Within one call, as many cuts as there may be.
    let other = MemoryFileSystem()
    let report = try await fetch(lossy, to: other)
    #expect(report.copiedByteCount == report.byteCount)
    try check(other, store.newestCommit, of: store)
    try await store.close()
  }

  @Test("A base that its server has released or lost is followed by another one")
  func ended() async throws {
    let (source, disk) = (MemoryFileSystem(), MemoryFileSystem())
    let store = try store(source)
    let service = service(store)
    let server = BaseServer(service) { number, _ in
      if number == 20 || number == 40 {
        service.endBases()
        try self.put(number, in: store)
      }
      return nil
    }
    let report = try await fetch(server, to: disk)
    #expect(report.lastCommit == 202 && report.keptByteCount > 0)
    try check(disk, 202, of: store)
    let never = BaseServer(service) { _, _ in
      service.endBases()
      return nil
    }
    do {
      _ = try await fetch(never, to: MemoryFileSystem())
      Issue.record("it succeeded")
    } catch let error as RemoteError {
      #expect(error.status == 404)
    }
    try await store.close()
  }

  @Test("A damaged piece is asked for again; a damaged log is refused, and does not open")
  func damage() async throws {
    let (source, disk) = (MemoryFileSystem(), MemoryFileSystem())
    let store = try store(source)
    let once = BaseServer(service(store)) { number, _ in number == 7 ? .flipped : nil }
    _ = try await fetch(once, to: disk)
    try check(disk, 200, of: store)
    let always = BaseServer(service(store)) { number, _ in number > 7 ? .flipped : nil }
    do {
      _ = try await fetch(always, to: MemoryFileSystem())
      Issue.record("a damaged piece was taken")
    } catch let error as RemoteError {
      #expect(error.code == .damaged)
    }
    // The server's disk is damaged, so its checksums are those of the damaged bytes.
    let path = try #require(store.log.segments.dropFirst(2).first?.path)
    let file = try source.open(path, .readWrite)
    try file.write([1, 2, 3, 4], at: 600)
    let target = MemoryFileSystem()
    do {
      _ = try await fetch(BaseServer(service(store)) { _, _ in nil }, to: target)
      Issue.record("a damaged log was taken")
    } catch let error as TreeRingError {
      #expect(error.code == .corruption)
    }
    let opened = Result { try Store(path: "b", fileSystem: target, options: StoreOptions()) }
    do {
      _ = try opened.get()
      Issue.record("a damaged base has opened")
    } catch let error as TreeRingError {
      #expect(error.code == .unfinishedCopy)
    }
    try await store.close()
  }

  @Test("Wherever power fails during a transfer, the folder does not open, or it holds everything")
  func powerFailures() throws {
    let source = MemoryFileSystem()
    let store = try store(source, rows: 30)
    let log = try store.pinLog(pieceByteCount: 1_000)
    let manifest = log.manifest
    func receive(on disk: any FileSystem) throws -> Int {
      let received = try ReceivedLog(in: "b", fileSystem: disk)
      defer { received.release() }
      var count = 0
      for file in manifest.files {
        for piece in try received.missingPieces(of: file, in: manifest) {
          let bytes = try log.piece(piece, of: file.name)
          try received.write(bytes, as: piece, of: file, in: manifest)
          count += 1
        }
      }
      try received.finish(manifest)
      return count
    }
    let options = StoreOptions(mode: .readOnly, logger: quietLogger)
    var (call, isDone) = (1, false)
    while !isDone {
      let disk = SimulatedFileSystem(seed: UInt64(call))
      disk.crash(after: call)
      isDone = (try? receive(on: disk)) != nil
      let found = disk.afterCrash(seed: UInt64(call))
      let opened = try? Store(path: "b", fileSystem: found, options: options)
      if isDone { #expect(opened != nil) }
      if let opened {
        let isSame = try contents(opened.snapshot()) == contents(store.snapshot())
        #expect(isSame, "call \(call)")
        try opened.close()
      } else {
        _ = try receive(on: found)
        let whole = try Store(path: "b", fileSystem: found, options: options)
        #expect(whole.newestCommit == 30, "call \(call)")
        try whole.close()
      }
      call += 1
    }
    #expect(call > 20)
    try store.close()
  }

  @Test("A file that has changed on the server's disk is refused there")
  func changedOnDisk() throws {
    let source = MemoryFileSystem()
    let store = try store(source)
    let log = try store.pinLog(pieceByteCount: 1_000)
    let name = log.manifest.files[2].name
    #expect(try log.piece(0, of: name).count == 1_000)
    let file = try source.open("a/log/\(name)", .readWrite)
    try file.write([1, 2, 3, 4], at: 600)
    #expect(throws: TreeRingError.self) { try log.piece(0, of: name) }
    try file.truncate(to: 1_500)
    #expect(throws: TreeRingError.self) { try log.piece(1, of: name) }
    #expect(throws: TreeRingError.self) { try log.piece(0, of: "../LOCK") }
    #expect(throws: TreeRingError.self) { try log.piece(-1, of: name) }
    try? store.close()
  }

  @Test("A folder with a store is left as it is; answers that are no manifest are refused")
  func refusals() async throws {
    let source = MemoryFileSystem()
    let store = try store(source, rows: 3)
    var options = once
    options.transport = BaseServer(service(store)) { _, _ in nil }
    do {
      _ = try await Store.restore(from: server, to: "a", on: source, options: options)
      Issue.record("it succeeded")
    } catch let error as TreeRingError {
      #expect(error.code == .alreadyExists)
    }
    let sound = String(decoding: BaseServer.begin(service(store)), as: UTF8.self)
    let name = try BaseManifest(Array(sound.utf8)).log.files[0].name
    for (part, other) in [
      (name, "../../etc/passwd"), (name, "LOCK"), ("\"pieceBytes\":1000", "\"pieceBytes\":0"),
      ("\"pieceBytes\":1000", "\"pieceBytes\":99999999999"),
      ("\"checksums\":[", "\"checksums\":[1,"),
      ("\"files\"", "\"other\""), ("{", "["),
    ] {
      let text = sound.replacingOccurrences(of: part, with: other)
      #expect(text != sound)
      #expect(throws: RemoteError.self) { try BaseManifest(Array(text.utf8)) }
    }
    #expect(try BaseManifest(Array(sound.utf8)).log.lastCommit == 3)
    try await store.close()
  }
}

/// The real service behind a transport that loses and damages answers.
final class BaseServer: HTTPTransport {
  enum Fault: Sendable {
    /// The connection ends after some bytes of the body.
    case lost(after: Int)
    /// One bit of the body of a piece is another one.
    case flipped
  }

  let service: LiveService
  private let before: @Sendable (_ number: Int, _ request: HTTPRequest) throws -> Fault?
  private let state = Mutex<(count: Int, flaws: [String])>((0, []))

  init(
    _ service: LiveService,
    before: @escaping @Sendable (_ number: Int, _ request: HTTPRequest) throws -> Fault?
  ) {
    self.service = service
    self.before = before
  }

  /// The number of requests.
  var count: Int { state.withLock(\.count) }
  var flaws: [String] { state.withLock(\.flaws) }

  /// The manifest of a new base.
  static func begin(_ service: LiveService) -> [UInt8] {
    service.answer(LiveRequest(method: "POST", path: "/v1/bases"), for: LiveAccess(.read)).body
  }

  func send(_ request: HTTPRequest) -> AnswerStream {
    AnswerStream { continuation in
      let number = state.withLock { state in
        if request.headers["Authorization"] != "Bearer secret" { state.flaws.append("\(request)") }
        state.count += 1
        return state.count
      }
      let fault: Fault?
      do {
        fault = try before(number, request)
      } catch {
        state.withLock { $0.flaws.append("\(error)") }
        fault = nil
      }
      let target = request.url.path + (request.url.query.map { "?\($0)" } ?? "")
      var answer = service.answer(
        LiveRequest(method: request.method, target: target), for: LiveAccess(.read))
      let isPiece = answer.contentType == "application/octet-stream"
      if case .flipped = fault, isPiece { answer.body[answer.body.count / 2] ^= 4 }
      continuation.yield(
        .head(status: answer.status, headers: ["content-length": "\(answer.body.count)"]))
      if case .lost(let count) = fault, isPiece {
        continuation.yield(.bytes(Array(answer.body.prefix(count))))
        return continuation.finish(throwing: ConnectionLost(reason: "lost"))
      }
      continuation.yield(.bytes(answer.body))
      continuation.finish()
    }
  }
}
