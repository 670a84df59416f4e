// The status of files: what they are, and that their times are not asked for.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("The status of a file") struct FileStatusTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path + "/file"
    try Data(repeating: 7, count: 1234).write(to: URL(fileURLWithPath: path))
  }

  private func status(_ path: String, follows: Bool = false) throws -> FileStatus {
    try FileStatus(at: path, follows: follows, named: path)
  }

  @Test("Length, kind and names are those that the system states")
  func properties() throws {
    #expect(try status(path).byteCount == 1234)
    #expect(try status(path).otherKind == nil)
    #expect(try status(folder.path).otherKind == "a folder")
    #expect(try status("/dev/null").otherKind == "a device")
    let fifo = folder.path + "/fifo"
    #expect(mkfifo(fifo, 0o600) == 0)
    #expect(try status(fifo).otherKind == "a FIFO")
    #expect { try status(folder.path + "/none") } throws: {
      ($0 as? TreeRingError)?.code == .notFound
    }
  }

  @Test("A file is the same under each of its names, and no other, nor its successor")
  func identity() throws {
    let files = FileManager.default
    let (link, name, copy) = (path + ".link", path + ".name", path + ".copy")
    try files.createSymbolicLink(atPath: link, withDestinationPath: path)
    try files.linkItem(atPath: path, toPath: name)
    try files.copyItem(atPath: path, toPath: copy)
    let own = try status(path)
    #expect(try own.isSame(as: status(name)))
    #expect(try own.isSame(as: status(link, follows: true)))
    #expect(try status(link).otherKind == "a symbolic link")
    #expect(try !own.isSame(as: status(link)))
    #expect(try !own.isSame(as: status(copy)))

    let open = try #require(try PosixFileSystem().open(path, .readOnly) as? PosixFile)
    #expect(try open.status().isSame(as: own))
    try files.removeItem(atPath: path)
    #expect(try open.status().isNamed)
    try files.removeItem(atPath: name)
    #expect(try !open.status().isNamed)
    #expect(throws: TreeRingError.self) { try status(path) }
    try files.copyItem(atPath: copy, toPath: path)
    #expect(try !open.status().isSame(as: status(path)))
    open.close()
    #expect(throws: TreeRingError.self) { try open.status() }
  }

  #if os(Linux)
    /// Whether a write gave a file the time of the clock's last tick, in one of twenty attempts.
    /// The time is exact instead if somebody has asked for the one before, or if the system has
    /// given an exact one to another file within the same tick.
    private func getsTimeOfTick(_ inspect: (any File) throws -> Void) throws -> Bool {
      let file = try PosixFileSystem().open(path, .readWrite)
      defer { file.close() }
      for _ in 0..<20 {
        usleep(10_000)
        try file.write([1], at: 0)
        try inspect(file)
        var tick = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &tick)
        try file.write([2], at: 0)
        var asked = stat()
        #expect(lstat(path, &asked) == 0)
        if asked.st_mtim.tv_sec == tick.tv_sec, asked.st_mtim.tv_nsec == tick.tv_nsec {
          return true
        }
        // Nobody has asked for the next time: this write forgets that somebody asked for this one.
        try file.write([3], at: 0)
      }
      return false
    }

    @Test("Asking for status and size leaves the times of later writes to the clock's ticks")
    func times() throws {
      let without = try getsTimeOfTick { _ in }
      let with = try getsTimeOfTick { file in
        _ = try file.size()
        _ = try status(path)
        _ = try PosixFileSystem().exists(path)
      }
      // Both are false on a file system that rounds times; before Linux 6.13 both are true anyway.
      #expect(with == without)
    }
  #endif
}
