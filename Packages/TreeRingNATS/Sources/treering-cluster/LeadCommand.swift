// `lead`: makes a running replica lead.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingNATS

struct LeadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lead",
    abstract: "Makes a replica lead, and waits until it does.",
    discussion: "The replica that led before can no longer write; its next write says so.")

  @Argument(help: "The name of the replica, as `status` shows it.")
  var name: String
  @OptionGroup var log: LogArguments

  func run() throws {
    let registry = ReplicaRegistry(log.options)
    let known = try registry.reports().map(\.name)
    guard known.contains(name) else {
      throw ValidationError(
        "No replica \(name) runs; there are: \(known.joined(separator: ", ")). Start it with `run`."
      )
    }
    try registry.ask(name)
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      if try registry.reports().contains(where: { $0.name == name && $0.isLeading }) {
        return print("\(name) leads")
      }
      Thread.sleep(forTimeInterval: 0.2)
    }
    throw ValidationError("\(name) does not lead after 30 s. `status` shows its problem.")
  }
}
