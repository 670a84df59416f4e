// The common part of all commands on a store: the folder, `--json`, and opening with errors that
// name the store.

import ArgumentParser
import Foundation
import Logging
import TreeRing
import TreeRingImport
import TreeRingLog

/// The store of a command and the form of its answer.
struct StoreArguments: ParsableArguments {
  @Argument(help: "The store's folder.", transform: NegativeNumber.shown)
  var store: String
  @Flag(help: "Print one JSON object per line.") var json = false
}

/// A command on a store.
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
  /// Opens a store without messages: `verify` reports recovery.
  ///
  /// - Parameters:
  ///   - readsPages: false to build all trees from the log; for reading only.
  ///   - isUnfinishedCopy: true for a copy that this program is making.
  ///   - memory: the memory budget in bytes; nil for the default.
  static func open(
    _ path: String, _ mode: StoreMode, readsPages: Bool = true, isUnfinishedCopy: Bool = false,
    memory: Int? = nil
  ) throws -> Store {
    if mode != .create { try checkExists(path, "Check the path, or import one.") }
    var logger = Logger(label: "treering") { _ in StandardErrorLog() }
    logger.logLevel = .error
    var options = StoreOptions(mode: mode, logger: logger)
    options.readsPages = readsPages
    // `treering sweep` deletes expired rows. Other commands write what they are asked for: a sweep
    // during an import would date later lines by today's clock.
    options.sweeps = false
    if let memory { options.memoryBudget = memory }
    options.isUnfinishedCopy = isUnfinishedCopy
    do throws(any Error) {
      return try opened(path, options)
    } catch let error as TreeRingError {
      if error.code == .notFound, mode != .create {
        throw Failure(.noInput, error.description)
      }
      let isNew = try mode == .create && !PosixFileSystem().exists(path + "/log")
      guard isNew, error.code != .locked else { throw error }
      throw Failure(.cannotCreate, "No store can be made at \(path): \(error.description)")
    }
  }

  /// Throws a failure with exit code 66 if there is no store. The exit code is 74 if that is
  /// unknown, as in a folder without permission to enter.
  static func checkExists(_ path: String, _ remedy: String) throws {
    if try Store.exists(at: path, on: PosixFileSystem()) { return }
    throw Failure(.noInput, "There is no store at \(path). \(remedy)")
  }

  /// Opens a store, with a progress bar during a replay.
  private static func opened(_ path: String, _ options: StoreOptions) throws -> Store {
    let bar = ProgressBar("Opening", total: nil)
    defer { bar.finish() }
    var begun: CommitNumber?
    return try Store(at: path, options: options) { progress in
      // The progress does not state its first commit, which is often not the start of the log.
      let first = begun ?? progress.commit
      begun = first
      let done = progress.commit - first
      bar.update(done: done, of: progress.newest - first, count: done, unit: "commits")
    }
  }
}

/// A key, a bucket or an object on the command line.
enum Typed {
  /// The bytes of a key: its UTF-8, or the bytes that `{"$base64":"…"}` encodes.
  static func key(_ argument: String) throws -> Key {
    guard argument.hasPrefix("{\"$base64\":") else { return Key(argument) }
    return Key(bytes: try Base64.unwrap(Array(argument.utf8)) ?? Array(argument.utf8))
  }

  /// The bytes of an object or metadata: JSON without space outside strings, or the bytes that
  /// `{"$base64":"…"}` encodes.
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
  /// Throws a failure with exit code 1 unless a bucket of this name exists or existed.
  func checkKnows(bucket name: String) throws {
    guard try buckets().contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
      throw Failure(.no, "There is no bucket \(name) at commit \(commit).")
    }
  }
}
