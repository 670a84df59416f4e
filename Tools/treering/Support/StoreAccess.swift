// What every command on a store shares: the folder, `--json`, and opening with errors that name it.

import ArgumentParser
import Foundation
import Logging
import TreeRing
import TreeRingLog

/// The store of a command and how it answers.
struct StoreArguments: ParsableArguments {
  @Argument(help: "The store's folder.") var store: String
  @Flag(help: "Print one JSON object per line.") var json = false
}

/// A command about a store.
protocol StoreCommand: ParsableCommand {
  var arguments: StoreArguments { get }
  func run(_ output: Output) throws
}

extension StoreCommand {
  func run() throws {
    let output = Output(isJSON: arguments.json)
    do {
      try run(output)
    } catch {
      try output.flush()
      throw error
    }
    try output.flush()
  }

  /// Opens the store for reading; the command leaves it unchanged.
  func openForReading() throws -> Store { try StoreAccess.open(arguments.store, .readOnly) }

  /// Opens the store for writing.
  func openForWriting() throws -> Store { try StoreAccess.open(arguments.store, .readWrite) }
}

enum StoreAccess {
  /// Opens a store quietly: what recovery has to say belongs to `verify`.
  ///
  /// - Parameter readsPages: false to make all trees from the log; for reading only.
  static func open(
    _ path: String, _ mode: StoreMode, readsPages: Bool = true
  ) throws -> Store {
    if mode != .create, !FileManager.default.fileExists(atPath: path + "/log") {
      throw Failure(.noInput, "There is no store at \(path). Check the path, or import one.")
    }
    var logger = Logger(label: "treering") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .error
    var options = StoreOptions(mode: mode, logger: logger)
    options.readsPages = readsPages
    do throws(any Error) {
      return try opened(path, options)
    } catch let error as TreeRingError {
      let isNew = mode == .create && !FileManager.default.fileExists(atPath: path + "/log")
      guard isNew, error.code != .locked else { throw error }
      throw Failure(.cannotCreate, "No store can be made at \(path): \(error.description)")
    }
  }

  /// Opens a store, with a progress bar while commits are replayed.
  private static func opened(_ path: String, _ options: StoreOptions) throws -> Store {
    let bar = ProgressBar("Opening", total: nil)
    defer { bar.finish() }
    var begun: CommitNumber?
    return try Store(at: path, options: options) { progress in
      // Where replaying began is not said: often it is not the log's start.
      let first = begun ?? progress.commit
      begun = first
      let done = progress.commit - first
      bar.update(done: done, of: progress.newest - first, count: done, unit: "commits")
    }
  }
}

/// A key, a bucket or an object on the command line.
enum Typed {
  /// The bytes of a key: its UTF-8, or what `{"$base64":"…"}` stands for.
  static func key(_ argument: String) throws -> Key {
    let text = NegativeNumber.shown(argument)
    guard text.hasPrefix("{\"$base64\":") else { return Key(text) }
    return Key(bytes: try Base64.unwrap(Array(text.utf8)) ?? Array(text.utf8))
  }

  /// The bytes of an object or metadata: JSON without space outside strings, or what
  /// `{"$base64":"…"}` stands for.
  static func content(_ text: [UInt8], _ what: String) throws -> [UInt8] {
    var output: [UInt8] = []
    do {
      try text.withUnsafeBytes { try JSONScanner.appendCompact($0, to: &output) }
      return try Base64.unwrap(output) ?? output
    } catch let error as TreeRingError {
      throw Failure(
        .badInput,
        "The \(what) is not JSON: \(error.description). Write other bytes as {\"$base64\":\"…\"}.")
    }
  }
}

extension Snapshot {
  /// A reader of an index; nil if closures define it, which are not here.
  func readableIndex(_ name: String) throws -> IndexReader? {
    do {
      return try index(name)
    } catch {
      guard error.code == .indexDefinedInCode else { throw error }
      return nil
    }
  }
}
