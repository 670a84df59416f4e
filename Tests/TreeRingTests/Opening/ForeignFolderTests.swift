// Folders and files that belong to no store: the engine does not change them, open them through a
// link, or wait for them.

import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Foreign folders and files") struct ForeignFolderTests {
  private static let modes = [StoreMode.create, .readWrite, .readOnly]

  private static func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  private static func options(_ mode: StoreMode) -> StoreOptions {
    StoreOptions(mode: mode, logger: quietLogger)
  }

  /// Makes a store of some commits and closes it.
  private static func makeStore(_ path: String, segmentSize: UInt64 = 64 << 20) throws {
    let store = try Store(
      at: path, options: StoreOptions(segmentSize: segmentSize, logger: quietLogger))
    for number in UInt8(0)..<20 { try store.put([number], for: "a") }
    try store.checkpoint()
    try store.close()
  }

  /// Every name below a folder, with the bytes of files and their modification times. An opening
  /// writes its store's lock file again, with the same bytes. So that file's time is left out if
  /// the store is the caller's own.
  private static func contents(_ folder: String, ownLock: String? = nil) throws -> [String: String]
  {
    var contents: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      let path = "\(folder)/\(name)"
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      guard attributes[.type] as? FileAttributeType == .typeRegular else {
        contents[name] = "\(attributes[.type] ?? "")"
        continue
      }
      let bytes = FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? []
      let time = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
      contents[name] = "\(name == ownLock ? 0 : time) \(crc32c(bytes)) \(bytes.count)"
    }
    return contents
  }

  @Test(
    "A folder with foreign files is refused in every mode, and nothing in it is changed",
    arguments: [
      ["pages", "LOCK"], ["LOCK"], ["pages"], ["letter.txt"], ["log/syslog"], ["readers/list"],
      ["log/00000000000000000001.0.lz4"], ["next/a"], ["UNFINISHED", "novel.txt"], ["LOCK/a"],
      ["log"],
    ])
  func foreign(names: [String]) throws {
    let folder = try TemporaryFolder()
    for name in names {
      let path = URL(filePath: "\(folder.path)/\(name)")
      try FileManager.default.createDirectory(
        at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Self.write("Dear \(name), this is mine.\n", path.path)
    }
    let before = try Self.contents(folder.path)
    for mode in Self.modes {
      let found = error { try Store(at: folder.path, options: Self.options(mode)) }
      #expect(found != nil, "\(names), \(mode)")
      if mode == .create, names != ["log/00000000000000000001.0.lz4"] {
        #expect(found?.code == .notAStore, "\(names)")
      }
      #expect(try Self.contents(folder.path) == before, "\(names), \(mode)")
    }
    let source = try Store.inMemory()
    try source.put([1], for: "a")
    #expect(code { try source.backUp(to: folder.path) } != nil)
    #expect(code { try BaseWriter(folder: folder.path, fileSystem: PosixFileSystem()) } != nil)
    #expect(code { try Store.restore(from: folder.path + "2", to: folder.path) } == .alreadyExists)
    #expect(try Self.contents(folder.path) == before, "\(names)")
  }

  @Test("A system folder is refused")
  func system() throws {
    for path in ["/etc", "/var", "/"] where FileManager.default.fileExists(atPath: path) {
      for mode in Self.modes {
        #expect(code { try Store(at: path, options: Self.options(mode)) } != nil, "\(path)")
      }
      #expect(!FileManager.default.fileExists(atPath: path + "/LOCK"))
    }
  }

  @Test("A path that is a file is refused")
  func file() throws {
    let folder = try TemporaryFolder()
    try Self.write("mine", folder.path + "/s")
    for mode in Self.modes {
      let found = code { try Store(at: folder.path + "/s", options: Self.options(mode)) }
      #expect(found == (mode == .create ? .notAStore : .notFound))
    }
    #expect(try Self.contents(folder.path).count == 1)
  }

  @Test("A store whose creation was killed at any call can be opened")
  func killedCreation() throws {
    var call = 1
    while true {
      let disk = Disk(seed: 1)
      disk.files.crash(after: call)
      let isDone = code { try disk.open() } == nil
      for found in [disk.files.afterKill(), disk.files.afterCrash(seed: UInt64(call))] {
        let store = try Disk(found).open()
        try store.put([1], for: "a")
        try store.close()
      }
      if isDone { break }
      call += 1
    }
    #expect(call > 8)
  }

  @Test(
    "The leftovers of a killed creation are no store yet, and a store can be created there",
    arguments: [
      [], ["LOCK"], ["LOCK", "log/"], ["LOCK", "log/00000000000000000001.0.lz4.tmp"], ["log/"],
      ["LOCK", "log/00000000000000000001.1.lz4.tmp", "readers/"],
    ])
  func leftovers(names: [String]) throws {
    let folder = try TemporaryFolder()
    for name in names {
      let path = "\(folder.path)/\(name)"
      let isFolder = name.hasSuffix("/")
      try FileManager.default.createDirectory(
        atPath: isFolder ? path : URL(filePath: path).deletingLastPathComponent().path,
        withIntermediateDirectories: true)
      if !isFolder { try Self.write("", path) }
    }
    let before = try Self.contents(folder.path)
    for mode in [StoreMode.readWrite, .readOnly] {
      #expect(code { try Store(at: folder.path, options: Self.options(mode)) } == .notFound)
      #expect(try Self.contents(folder.path) == before)
    }
    let store = try Store(at: folder.path, options: Self.options(.create))
    try store.put([1], for: "a")
    try store.close()
    let writer = try Store(at: folder.path, options: Self.options(.readWrite))
    #expect(try writer.snapshot().get("a", in: blobs) == [1])
    try writer.close()
  }

  @Test("A lock file that a crash tore anywhere is opened again, and so are readers' files")
  func tornLock() throws {
    let whole = try Self.lockFile()
    #expect(whole.contains { $0 != 0 })
    for cut in 0...40 {
      let zeros = [UInt8](repeating: 0, count: cut)
      for torn in [
        Array(whole.prefix(cut)), whole.prefix(cut) + zeros, zeros + whole.dropFirst(cut),
      ] {
        let disk = SimulatedFileSystem(seed: 1)
        try disk.makeDirectory("store")
        try disk.makeDirectory("store/readers")
        for name in ["3-1f-77-5", "3-1f-77-5-9"] { disk.replace("store/readers/\(name)", with: []) }
        disk.replace("store/LOCK", with: torn)
        let store = try Store(path: "store", fileSystem: disk, options: Self.options(.create))
        try store.put([1], for: "a")
        try store.close()
      }
    }
  }

  /// The bytes of a lock file while its store is open.
  private static func lockFile() throws -> [UInt8] {
    let disk = SimulatedFileSystem(seed: 1)
    let store = try Store(path: "store", fileSystem: disk, options: options(.create))
    try store.put([1], for: "a")
    let bytes = try #require(disk.contents(of: "store/LOCK"))
    try store.close()
    return bytes
  }

  @Test("A foreign page file in a store is rebuilt from the log")
  func foreignPages() throws {
    let folder = try TemporaryFolder()
    try Self.makeStore(folder.path)
    try Self.write("not pages", folder.path + "/pages")
    let store = try Store(at: folder.path, options: Self.options(.readWrite))
    #expect(try store.snapshot().get("a", in: blobs) == [19])
    try store.close()
  }

  /// Something other than a file, and its possible target.
  enum Impostor: CaseIterable {
    case fifo, link, danglingLink, folder, endpoint

    func put(at path: String, target: String) throws {
      switch self {
      case .fifo: #expect(mkfifo(path, 0o600) == 0)
      case .link: #expect(symlink(target, path) == 0)
      case .danglingLink: #expect(symlink(target + ".gone", path) == 0)
      case .folder: #expect(mkdir(path, 0o700) == 0)
      case .endpoint:
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A short name, because the system's limit is low.
        let name = Array("/tmp/treering-\(getpid())".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bound = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        #expect(bound == 0)
        #expect(rename("/tmp/treering-\(getpid())", path) == 0)
      }
    }
  }

  @Test(
    "Anything but a regular file is refused at once; nothing is read or written through it",
    .timeLimit(.minutes(1)), arguments: Impostor.allCases)
  func impostors(kind: Impostor) throws {
    for name in ["log/00000000000000000001.0.lz4", "pages", "LOCK", "UNFINISHED"] {
      let folder = try TemporaryFolder()
      let (path, target) = (folder.path + "/s", folder.path + "/mine")
      try Self.makeStore(path)
      try Self.write(String(repeating: "mine", count: 2_000), target)
      if name == "LOCK" || name == "UNFINISHED" {
        try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
      } else {
        // The link leads to a sound file.
        try? FileManager.default.removeItem(atPath: target)
        try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: target)
      }
      try kind.put(at: "\(path)/\(name)", target: target)
      let before = try Self.contents(folder.path, ownLock: "s/LOCK")
      for mode in Self.modes {
        let found = error { try Store(at: path, options: Self.options(mode)) }
        #expect(found?.code == .notAStore, "\(name), \(mode): \(String(describing: found))")
        #expect(found?.file == "\(path)/\(name)")
      }
      let disk = PosixFileSystem()
      if name.hasPrefix("log") {
        #expect(!verifyLog(directory: path + "/log", fileSystem: disk).isEmpty)
      }
      let check = Result { try StoreFilesCheck(of: path, fileSystem: disk).findings }
      #expect((try? check.get())?.isEmpty != true, "\(name)")
      if name != "pages" {
        #expect(code { try Store.salvage(from: path, to: path + ".new") } != nil, "\(name)")
        #expect(
          code {
            try CommitLog.backUp(of: path, to: path + ".back", fileSystem: disk, mayLink: true)
          } != nil, "\(name)")
      }
      let after = try Self.contents(folder.path, ownLock: "s/LOCK").filter { before[$0.key] != nil }
      #expect(after == before, "\(name)")
    }
  }

  @Test("A store's folder may be reached through a symbolic link")
  func linkedFolder() throws {
    let folder = try TemporaryFolder()
    try Self.makeStore(folder.path + "/s")
    #expect(symlink(folder.path + "/s", folder.path + "/link") == 0)
    let store = try Store(at: folder.path + "/link", options: Self.options(.readWrite))
    try store.put([1], for: "b")
    #expect(
      code { try Store(at: folder.path + "/s", options: Self.options(.readWrite)) } == .locked)
    try store.close()
  }
}
