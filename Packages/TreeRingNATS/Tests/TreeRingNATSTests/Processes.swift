// Processes of POSIX for tests: Foundation's kind watches its child from a run loop.

import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Starts a program, which is searched for in the folders of `PATH`.
func spawn(_ arguments: [String], input: Int32? = nil, output: String) throws -> pid_t {
  #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
  #else
    var actions = posix_spawn_file_actions_t()
  #endif
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  if let input { posix_spawn_file_actions_adddup2(&actions, input, 0) }
  posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
  posix_spawn_file_actions_adddup2(&actions, 1, 2)
  let pointers = arguments.map { strdup($0) }
  defer { for pointer in pointers { free(pointer) } }
  var number: pid_t = 0
  let status = posix_spawnp(&number, arguments[0], &actions, nil, pointers + [nil], environ)
  guard status == 0 else {
    throw JetStreamServers.Failure(
      description: "\(arguments[0]) cannot be started: \(String(cString: strerror(status)))")
  }
  return number
}

/// Sends a signal to a process.
func sendSignal(_ signal: Int32, to number: pid_t) { _ = kill(number, signal) }

/// The exit code of a process that has ended, or 128 and the number of the signal that killed it;
/// nil if it runs longer than the limit.
func exitCode(of number: pid_t, within limit: Duration) -> Int32? {
  let deadline = ContinuousClock.now + limit
  var status: Int32 = 0
  while waitpid(number, &status, WNOHANG) == 0 {
    guard .now < deadline else { return nil }
    usleep(10_000)
  }
  return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
}

/// Runs a script of the shell up to its first failing command, which it throws with its output.
func shell(_ script: String) throws {
  let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  defer { try? FileManager.default.removeItem(at: output) }
  let number = try spawn(["/bin/sh", "-ec", script], output: output.path)
  guard exitCode(of: number, within: .seconds(30)) == 0 else {
    let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    throw JetStreamServers.Failure(description: "a command failed: \(text.prefix(300))")
  }
}
