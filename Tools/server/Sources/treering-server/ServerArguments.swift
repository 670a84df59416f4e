// The command line of the server.

import TreeRingServer

/// A mistake on the command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// The arguments of the server.
struct ServerArguments {
  var store = ""
  var options = ServerOptions()
  /// Whether this process opens the store for writing, and takes writes.
  var isWritable = false
  /// The memory budget of the store, in MiB.
  var memory = 512
  var wantsHelp = false

  static let help = """
    Usage: treering serve STORE [OPTION…]
    Serves a store over HTTP, and live windows of its indexes over WebSocket.

      --write                 open the store for writing, and take commits of clients
      --address ADDRESS       the address to listen at (127.0.0.1)
      --port PORT             the port; 0 for a free one (8700)
      --tokens FILE           tokens with their rights, one JSON object a line; mode 0600
      --certificate FILE      the certificate chain, PEM
      --key FILE              its private key, PEM
      --host NAME             a name of this server in Host headers; repeatable
      --origin ORIGIN         another origin whose pages may use the server; repeatable
      --connections N         the most connections of one address (256)
      --threads N             threads that read the store (4)
      --memory MIB            the store's memory budget (512); a sixteenth is for earlier states
                              that were read, which make the next ones near them quick
      --rtdb                  also serve databases with Firebase's REST protocol, at *.json; with
                              --write, create the store if there is none
      --rtdb-emulator         as --rtdb; trust every client as Firebase's emulator does (loopback)
      --rtdb-keep-alive N     seconds between the signs of life of a stream (30)

    Without --write it follows a store that another process may write. Without --tokens it makes a
    token, and prints it once, in the URL. SIGHUP reads tokens and certificate again; SIGTERM ends
    it.
    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    var (certificate, key): (String?, String?)
    while let argument = rest.popFirst() {
      func value() throws -> String {
        guard let value = rest.popFirst() else {
          throw UsageError(description: "The option \(argument) needs a value.")
        }
        return value
      }
      func number(_ range: ClosedRange<Int>) throws -> Int {
        let text = try value()
        guard let number = Int(text), range.contains(number) else {
          throw UsageError(
            description: "\(argument) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
      }
      switch argument {
      case "--help", "-h": wantsHelp = true
      case "--write": isWritable = true
      case "--memory": memory = try number(1...1 << 20)
      case "--address": options.address = try value()
      case "--port": options.port = try number(0...65_535)
      case "--tokens": options.tokenFile = try value()
      case "--certificate": certificate = try value()
      case "--key": key = try value()
      case "--host": options.hosts.append(try value())
      case "--origin": options.origins.append(try value())
      case "--connections": options.limits.connectionsPerAddress = try number(1...1_000_000)
      case "--rtdb": options.databases = options.databases ?? DatabaseOptions()
      case "--rtdb-emulator":
        options.databases = options.databases ?? DatabaseOptions()
        options.databases?.isEmulator = true
      case "--rtdb-keep-alive":
        options.databases = options.databases ?? DatabaseOptions()
        options.databases?.keepAliveSeconds = Int64(try number(1...3600))
      case "--threads": options.threadCount = try number(1...64)
      default:
        guard !argument.hasPrefix("-"), store.isEmpty else {
          throw UsageError(description: "“\(argument)” is no option. See --help.")
        }
        store = argument
      }
    }
    if wantsHelp { return }
    if store.isEmpty { throw UsageError(description: "Give the store's folder. See --help.") }
    if (certificate == nil) != (key == nil) {
      throw UsageError(description: "--certificate and --key belong together.")
    }
    if let certificate, let key { options.certificate = (certificate, key) }
  }
}
