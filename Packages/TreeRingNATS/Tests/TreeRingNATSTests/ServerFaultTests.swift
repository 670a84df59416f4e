// Proof that the faults of servers take effect: a disk loses what was not synced, a network that is
// cut carries nothing.

import Foundation
import Testing

@testable import TreeRingNATS

extension NATSTests {
  @Suite struct ServerFaultTests {
    @Test(
      "A loss of power takes what was not synced, and nothing else",
      .enabled(if: ServerDisks.obstacle == nil, "\(ServerDisks.obstacle ?? "")"))
    func power() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      defer { try? FileManager.default.removeItem(at: folder) }
      let disks = try ServerDisks(["disk"], in: folder)
      defer { try? shell(disks.removal) }
      let disk = folder.appending(path: "disk").path
      try shell("echo synced >\(disk)/a\nsync --file-system \(disk)\necho lost >\(disk)/b")
      try disks.cutPower()
      try disks.mountAgain()
      #expect(try String(contentsOfFile: "\(disk)/a", encoding: .utf8) == "synced\n")
      let rest = try? String(contentsOfFile: "\(disk)/b", encoding: .utf8)
      #expect(rest?.isEmpty ?? true)
    }

    @Test(
      "A server that is cut from its clients does not answer them until it is connected again",
      .enabled(if: ServerNetwork.obstacle == nil, "\(ServerNetwork.obstacle ?? "")"))
    func cut() throws {
      let servers = try JetStreamServers(3, canBeCut: true)
      let url = "\(servers.monitorURLs[0])/healthz"
      func answers() -> Bool { (try? MonitorRequest.body(of: url, within: .seconds(1))) != nil }
      #expect(answers())
      try servers.set(0, [.clients], isConnected: false)
      #expect(!answers())
      try servers.set(0, [.clients], isConnected: true)
      #expect(answers())
    }
  }
}
