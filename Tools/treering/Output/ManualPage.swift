// The manual page, made of the help texts of all commands.

import ArgumentParser

/// The manual page treering(1), in the language of man(7).
enum ManualPage {
  static var text: String {
    let tool = TreeRingTool.configuration
    var page = """
      .TH TREERING 1 "" "treering \(TreeRingTool.version)" "User commands"
      .SH NAME
      treering \\- \(escaped(tool.abstract))
      .SH SYNOPSIS
      .B treering
      .I command
      .RI [ argument ...]
      .SH DESCRIPTION

      """
    page += escaped(tool.discussion) + "\n.SH COMMANDS\n"
    for command in tool.subcommands {
      let below = command.configuration.subcommands
      for entry in below.isEmpty ? [command] : below { page += section(of: entry) }
    }
    page += """
      .SH SEE ALSO
      .BR lz4 (1),
      docs/tool.md of the sources, for the formats that scripts can rely on.

      """
    return page
  }

  /// The part of one command: its help as it is printed.
  private static func section(of command: any ParsableCommand.Type) -> String {
    let help = TreeRingTool.helpMessage(for: command, columns: 78)
    let name =
      help.firstMatch(of: #/USAGE: (treering(?: [a-z]+)+)/#).map { String($0.1) }
      ?? command.configuration.commandName ?? ""
    return ".SS \(escaped(name))\n.nf\n\(escaped(help))\n.fi\n"
  }

  /// Text that contains no requests: a backslash, a hyphen, and a dot or an apostrophe at the
  /// beginning of a line mean themselves.
  static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&" + $0 : String($0) }
      .joined(separator: "\n")
  }
}
