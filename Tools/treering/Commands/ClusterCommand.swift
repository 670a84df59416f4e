// `treering cluster`: starts the tool for replicas, a program of its own, in place of this process.

import ArgumentParser

struct ClusterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster",
    abstract: "Keeps a store on several machines, and shows and changes which of them leads.",
    discussion: """
      Starts `treering-cluster`, which stands beside this program, or at the path in the variable \
      TREERING_CLUSTER. `treering cluster --help` prints its commands.
      """)

  @Argument(
    parsing: .captureForPassthrough, help: "A command of the tool for replicas, and its options.",
    transform: NegativeNumber.shown)
  var arguments: [String] = []

  func run() throws {
    let tool = Companion(
      name: "treering-cluster", variable: "TREERING_CLUSTER", build: "Tools/build-cluster")
    try tool.run(arguments)
  }
}
