// Disks that lose what was not synced. Each server has a file system of its own in a file, mounted
// through a loop device. A cut shuts the file systems down without a flush of caches or journals:
// after that, nothing more reaches the file.

import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

struct ServerDisks: Sendable {
  /// The reason for which this machine cannot have such disks; nil if it can.
  static let obstacle: String? = {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    do {
      let disks = try ServerDisks(["disk"], in: folder)
      defer { try? shell(disks.removal) }
      try disks.cutPower()
      try disks.mountAgain()
      return nil
    } catch { return "disks of loop devices need Linux and root: \(error)" }
  }()

  private let folders: [String]

  /// Makes and mounts disks.
  /// - Parameter names: The names of the folders, in `folder`, where they are mounted.
  init(_ names: [String], in folder: URL) throws {
    folders = names.map { folder.appending(path: $0).path }
    do {
      try shell(
        folders.map {
          """
          mkdir -p \($0)
          truncate -s 8G \($0).disk
          mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 \($0).disk
          losetup --find --show \($0).disk >\($0).device
          mount "$(cat \($0).device)" \($0)
          """
        }.joined(separator: "\n"))
    } catch {
      try? shell(removal)
      throw error
    }
  }

  /// The commands that remove the disks, whatever there is of them.
  var removal: String {
    folders.map {
      """
      umount \($0) 2>/dev/null || true
      losetup --detach "$(cat \($0).device)" 2>/dev/null || true
      """
    }.joined(separator: "\n")
  }

  /// Ends all writes to the disks. Files there can no longer be used.
  func cutPower() throws {
    #if canImport(Glibc)
      for folder in folders {
        let descriptor = open(folder, O_RDONLY)
        defer { close(descriptor) }
        // EXT4_IOC_SHUTDOWN, without a flush of the journal.
        var flags: UInt32 = 2
        guard ioctl(descriptor, 0x8004_587D, &flags) == 0 else {
          throw JetStreamServers.Failure(
            description: "\(folder) cannot be shut down: \(String(cString: strerror(errno)))")
        }
      }
    #else
      throw JetStreamServers.Failure(description: "there is no such call here")
    #endif
  }

  /// Mounts the disks after a cut, when no process uses them.
  func mountAgain() throws {
    try shell(
      folders.map { "umount \($0)\nmount \"$(cat \($0).device)\" \($0)" }.joined(separator: "\n"))
  }
}
