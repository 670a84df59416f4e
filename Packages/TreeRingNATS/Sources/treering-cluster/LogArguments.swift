// The arguments that name a log.

import ArgumentParser
import Logging
import TreeRingNATS

struct LogArguments: ParsableArguments {
  @Option(
    name: .customLong("server"), parsing: .upToNextOption,
    help: "The addresses of all servers for clients: nats://HOST:4222 or tls://HOST:4222.")
  var servers = ["nats://127.0.0.1:4222"]

  @Option(
    name: .customLong("monitor"), parsing: .upToNextOption,
    help: "The addresses of all servers for monitoring: http://HOST:8222.")
  var monitors: [String] = []

  @Option(help: "The stream: the name of the shared log.")
  var stream: String

  @Option(help: "A file with the credentials of a NATS user.")
  var credentials: String?

  @Option(help: "A file with the authorities that signed the servers' certificates.")
  var authorities: String?

  @Flag(help: "Allow one server, or servers that can lose what they acknowledge. For trials.")
  var unsafe = false

  var options: JetStreamOptions {
    var options = JetStreamOptions(urls: servers, stream: stream, monitorURLs: monitors)
    if let credentials { options.credentials = .file(credentials) }
    options.authorityFile = authorities
    options.allowsUnsafeConfiguration = unsafe
    if unsafe, servers.count < 3 { options.replicaCount = 1 }
    options.logger.logLevel = .error
    return options
  }
}
