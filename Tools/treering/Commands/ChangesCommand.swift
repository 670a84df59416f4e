// `treering changes`: the minimal changeset of an index between two commits.

import ArgumentParser
import TreeRing
import TreeRingLive
import TreeRingLog
import TreeRingMappings

struct ChangesCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes",
    abstract: "Prints the minimal changeset of an index between two commits, in either direction.")

  @OptionGroup var arguments: StoreArguments
  @Argument(help: "The index.", transform: NegativeNumber.shown)
  var index: String
  @Option(help: "The point in history to start from.", transform: Point.parse) var from: Point
  @Option(help: "The point in history to end at.", transform: Point.parse) var to: Point
  @OptionGroup var shown: MappingArguments
  @Option(help: "The form of the changeset.") var form = ChangeForm.batch
  @Option(help: "Print a reset if there are more operations than this.") var limit = 100_000

  func run(_ output: Output) throws {
    let store = try openForReading()
    let old = try store.snapshot(at: from)
    let new = try store.snapshot(at: to)
    var observer = store.observer(of: shown.mappings(of: index), limit: limit)
    _ = try observer.advance(to: old)
    let change = try observer.advance(to: new)
    try ChangePrinter(output: output, change: change).print(form)
  }
}

extension ChangeForm: ExpressibleByArgument {}
