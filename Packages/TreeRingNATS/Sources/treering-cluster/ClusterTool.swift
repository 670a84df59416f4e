// `treering-cluster`: runs a replica of a store over NATS JetStream, shows and changes who leads.
// `treering cluster` starts it.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingRemote
import TreeRingReplication

@main
struct ClusterTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "treering-cluster",
    abstract: "Keeps one store on several machines, over NATS JetStream.",
    discussion: """
      Exit codes: 0 done; 1 the answer is no; 64 usage; 69 the log, or the server of the base, is \
      unavailable; 74 the log or the folder is damaged or does not fit. docs/cluster.md describes \
      replicas.
      """,
    subcommands: [RunCommand.self, StatusCommand.self, LeadCommand.self])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let error as TreeRingError {
      fail(error.description, error.code == .unavailable ? 69 : error.code == .notFound ? 1 : 74)
    } catch let error as RemoteError {
      fail(error.description, error.code == .unreachable || error.code == .unavailable ? 69 : 74)
    } catch let error as SharedLogError {
      if case .unavailable = error { fail(error.description, 69) }
      fail(error.description, 74)
    } catch {
      exit(withError: error)
    }
  }

  private static func fail(_ text: String, _ status: Int32) -> Never {
    FileHandle.standardError.write(Data("treering-cluster: \(text)\n".utf8))
    Foundation.exit(status)
  }
}
