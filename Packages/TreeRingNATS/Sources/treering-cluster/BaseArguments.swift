// The arguments that name the server of another replica, from which a new folder gets its base.

import ArgumentParser
import Foundation
import TreeRing
import TreeRingRemote

struct BaseArguments: ParsableArguments {
  @Option(
    name: .customLong("base"),
    help: """
      The address of `treering serve` on the folder of another replica. A new folder begins with a \
      copy of that, and takes the commits after it from the log. A folder with a store stays as it \
      is. An interrupted copy goes on.
      """)
  var server: String?

  @Option(
    help: ArgumentHelp(
      "The file with the token for that server, unless its address has one.", valueName: "file"))
  var tokenFile: String?

  /// Copies the base into a new folder.
  /// - Returns: The sentence to print; nil without a server, and for a folder with a store.
  func fetch(into folder: String) throws -> String? {
    guard let server else { return nil }
    guard let url = URL(string: server) else {
      throw ValidationError("--base needs an address such as http://HOST:8700.")
    }
    var options = RemoteOptions(attempts: 10)
    if let token = try token() { options.token = { _ in token } }
    let result = Self.wait { [options] in
      try await Store.restore(from: url, to: folder, options: options)
    }
    do {
      let report = try result.get()
      return "base of \(report.byteCount) bytes, \(report.copiedByteCount) of them copied, "
        + "commit \(report.lastCommit)"
    } catch let error as TreeRingError where error.code == .alreadyExists {
      // Opening the folder says more about it.
      return nil
    }
  }

  /// The token in the file, without the spaces and line ends around it; nil without a file. It is
  /// no argument itself, since every user of a machine can list those of its processes.
  private func token() throws -> String? {
    guard let tokenFile else { return nil }
    guard let text = try? String(contentsOfFile: tokenFile, encoding: .utf8) else {
      throw ValidationError("--token-file \(tokenFile) is not there, or cannot be read as text.")
    }
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1 else {
      throw ValidationError(
        "--token-file \(tokenFile) must hold one token and nothing else. It has \(words.count) "
          + "words.")
    }
    return String(words[0])
  }

  /// The result of an asynchronous call, which this thread waits for.
  private static func wait<Value: Sendable>(
    _ call: @escaping @Sendable () async throws -> Value
  ) -> Result<Value, any Error> {
    let box = Box<Value>()
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      do {
        box.result = .success(try await call())
      } catch {
        box.result = .failure(error)
      }
      end.signal()
    }
    end.wait()
    return box.result
  }

  /// A result on its way to the thread that waits for the semaphore.
  private final class Box<Value: Sendable>: @unchecked Sendable {
    var result: Result<Value, any Error> = .failure(CancellationError())
  }
}
