// A network whose cables tests unplug. Each server has a namespace with two interfaces: one reaches
// the clients, which are in the namespace of the test, the other reaches the other servers. Each
// interface is a port of one of two bridges. A disabled port drops frames in silence, as a broken
// switch does.

import Foundation

struct ServerNetwork: Sendable {
  /// The two networks of a server.
  enum Side: String, CaseIterable {
    case clients = "c"
    case servers = "s"
  }

  /// The reason for which this machine cannot have such networks; nil if it can.
  static let obstacle: String? = {
    do {
      let network = try ServerNetwork(1)
      defer { try? shell(network.removal) }
      try network.set(0, Side.allCases, isConnected: false)
      try shell((network.prefix(0) + ["true"]).joined(separator: " "))
      return nil
    } catch { return "network namespaces need Linux, root and iproute2: \(error)" }
  }()

  private let number = UInt16.random(in: 0 ... .max)
  private let count: Int
  private var name: String { "tr\(String(number, radix: 16))" }
  private var subnet: String { "10.\(128 + number >> 9).\(number & 0xFF)" }

  init(_ count: Int) throws {
    self.count = count
    do { try shell(setup) } catch {
      try? shell(removal)
      throw error
    }
  }

  private var setup: String {
    var lines: [String] = []
    for side in Side.allCases {
      lines.append("ip link add \(name)\(side.rawValue) type bridge")
      lines.append("ip link set \(name)\(side.rawValue) up")
    }
    lines.append("ip address add \(subnet).126/25 dev \(name)c")
    for index in 0..<count {
      let space = "\(name)n\(index)"
      lines.append("ip netns add \(space)")
      lines.append("ip -n \(space) link set lo up")
      for side in Side.allCases {
        let (port, own) = ("\(name)\(side.rawValue)\(index)", side.rawValue)
        lines.append("ip link add \(port) type veth peer name \(own) netns \(space)")
        lines.append("ip link set \(port) master \(name)\(side.rawValue) up")
        lines.append("ip -n \(space) address add \(host(index, side))/25 dev \(own)")
        lines.append("ip -n \(space) link set \(own) up")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// The commands that remove the network, whatever there is of it.
  var removal: String {
    let spaces = (0..<count).map { "ip netns delete \(name)n\($0)" }
    let bridges = Side.allCases.map { "ip link delete \(name)\($0.rawValue)" }
    return (spaces + bridges).map { "\($0) 2>/dev/null || true" }.joined(separator: "\n")
  }

  /// The address of a server on one of its networks.
  func host(_ index: Int, _ side: Side) -> String {
    "\(subnet).\((side == .clients ? 1 : 129) + index)"
  }

  /// The words before a command that run it in the namespace of a server.
  func prefix(_ index: Int) -> [String] { ["nsenter", "--net=/run/netns/\(name)n\(index)"] }

  /// Cuts a server from others, or connects it again.
  func set(_ index: Int, _ sides: [Side], isConnected: Bool) throws {
    for side in sides {
      try shell(
        "bridge link set dev \(name)\(side.rawValue)\(index) state \(isConnected ? 3 : 0)")
    }
  }
}
