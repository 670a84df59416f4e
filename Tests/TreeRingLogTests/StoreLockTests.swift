// The shared word in LOCK, by which a writer publishes its newest durable commit.

import Foundation
import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingLog

@Suite("The shared word") struct StoreLockTests {
  private static let path = "LOCK"

  private static func value(_ disk: any FileSystem) throws -> SharedWord.Value {
    try #require(try SharedWord.opened(path, disk)).value
  }

  @Test("The word states no commit during opening, then the newest durable one")
  func publishing() throws {
    let disk = MemoryFileSystem()
    #expect(try SharedWord.opened(Self.path, disk) == nil)
    let lock = try StoreLock(path: Self.path, fileSystem: disk)
    let first = try Self.value(disk)
    #expect(first.durable == nil)
    lock.publish(durable: 0)
    #expect(try Self.value(disk).durable == 0)
    lock.publish(durable: 7)
    lock.publish(durable: 5)
    #expect(try Self.value(disk).incarnation == first.incarnation)
    #expect(try Self.value(disk).durable == 7)
    #expect(disk.contents(of: Self.path)?.count == 4096)
    lock.release()
    let next = try StoreLock(path: Self.path, fileSystem: disk)
    #expect(try Self.value(disk).durable == nil)
    #expect(try Self.value(disk).incarnation != first.incarnation)
    next.release()
  }

  @Test("A word whose halves are of two writers is not accepted")
  func torn() throws {
    let disk = MemoryFileSystem()
    var images: [[UInt8]] = []
    for durable in [3, 900] as [CommitNumber] {
      let lock = try StoreLock(path: Self.path, fileSystem: disk)
      lock.publish(durable: durable)
      images.append(try #require(disk.contents(of: Self.path)))
      lock.release()
    }
    // A reader arrives in the middle of the write that leads from one image to the other.
    for (old, new) in [(images[0], images[1]), (images[1], images[0])] {
      for split in 9..<28 {
        let mixed = Array(new[..<split] + old[split...])
        if mixed == old || mixed == new { continue }
        let word = SharedWord(ChangingFile([mixed, mixed, new]))
        #expect(word.value.durable == (new == images[0] ? 3 : 900), "\(split)")
      }
    }
  }

  @Test("A word without a checksum is accepted once it stays unchanged")
  func withoutChecksum() throws {
    let disk = MemoryFileSystem()
    try StoreLock(path: Self.path, fileSystem: disk).release()
    var bytes = try #require(disk.contents(of: Self.path))
    bytes[8..<24] = [1, 0, 0, 0, 0, 0, 0, 0, 43, 0, 0, 0, 0, 0, 0, 0]
    bytes[24..<28] = [0, 0, 0, 0]
    disk.setContents(of: Self.path, to: bytes)
    #expect(try Self.value(disk).incarnation == 1)
    #expect(try Self.value(disk).durable == 42)
  }

  @Test("A word that cannot be read states no durable commit")
  func truncated() throws {
    let folder = try TemporaryFolder()
    let disk = PosixFileSystem()
    let path = folder.path + "/LOCK"
    let lock = try StoreLock(path: path, fileSystem: disk)
    lock.publish(durable: 7)
    let word = try #require(try SharedWord.opened(path, disk))
    #expect(word.value.durable == 7)
    try disk.open(path, .readWrite).truncate(to: 0)
    #expect(word.value.durable == nil)
    #expect(try SharedWord.opened(path, disk) == nil)
    // The next sync rewrites it.
    lock.publish(durable: 8)
    #expect(word.value.durable == 8)
    lock.release()
  }

  @Test("Concurrent readers never see the durable commit decrease, or a mixture of two writers")
  func concurrent() throws {
    let folder = try TemporaryFolder()
    let disk = PosixFileSystem()
    let path = folder.path + "/LOCK"
    try StoreLock(path: path, fileSystem: disk).release()
    let isDone = Counter()
    let isEnough = Counter()
    let word = try #require(try SharedWord.opened(path, disk))
    Thread.detachNewThread {
      // Until the reader has seen some writers, after a time that depends on the machine.
      for round in 1...100_000 as ClosedRange<CommitNumber> where isEnough.count == 0 {
        guard let lock = try? StoreLock(path: path, fileSystem: disk) else { continue }
        // Each writer's commits are in a separate range.
        for commit in 0..<500 { lock.publish(durable: round * 1_000 + CommitNumber(commit)) }
        lock.release()
      }
      _ = isDone.next()
    }
    var newest: [UInt64: CommitNumber] = [:]
    while isDone.count == 0 {
      let value = word.value
      guard let durable = value.durable else { continue }
      #expect(durable >= newest[value.incarnation] ?? 0)
      #expect(durable / 1_000 == (newest[value.incarnation] ?? durable) / 1_000)
      newest[value.incarnation] = durable
      if newest.count == 10 { _ = isEnough.next() }
    }
    #expect(newest.count > 1)
  }
}

/// A file whose contents change with each read until the last ones remain.
private final class ChangingFile: File {
  let path = "LOCK"
  private let images: Mutex<[[UInt8]]>

  init(_ images: [[UInt8]]) { self.images = Mutex(images) }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(TreeRingError) -> Int {
    let image = images.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    buffer.copyBytes(from: image[Int(offset)..<Int(offset) + buffer.count])
    return buffer.count
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(TreeRingError) {}
  func sync(_ strength: SyncStrength) throws(TreeRingError) {}
  func size() throws(TreeRingError) -> UInt64 { 4096 }
  func truncate(to size: UInt64) throws(TreeRingError) {}
  func allocate(_ count: UInt64, at offset: UInt64) throws(TreeRingError) -> Bool { false }
  func map(at offset: UInt64, count: Int) throws(TreeRingError) -> any FileMapping {
    throw TreeRingError(.notSupported, "The word is only read here.", file: path)
  }
  func close() {}
}
