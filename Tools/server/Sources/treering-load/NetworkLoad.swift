// The same writes beside nobody, beside readers of TreeRing's server, and beside readers of the
// naive one, in one run. Readers are a process of their own.

import Foundation

enum NetworkLoad {
  static func run(rate: Int, seconds: Int, windows: Int) throws {
    for (name, words) in [("no readers", []), ("TreeRing", []), ("naive", ["--naive"])] {
      let program = CommandLine.arguments[0]
      let server = LoadProcess(program, ["serve", "\(rate)", "\(seconds)"] + words)
      try server.start()
      let url = try server.line()
      let readers = LoadProcess(
        program, ["read", url, "\(windows)", "\(seconds + WriterLoad.connectingSeconds)"])
      if name != "no readers" { try readers.start() }
      print("\(name): \(try server.line())")
      if name != "no readers" {
        _ = try readers.line()
        print("\(name): \(try readers.line())")
        _ = readers.terminate()
      }
      _ = server.terminate()
    }
  }
}
