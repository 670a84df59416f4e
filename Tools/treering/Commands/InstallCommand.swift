// `treering install`: installs the manual page and the completions of shells.

import ArgumentParser
import Foundation
import TreeRingLive
import TreeRingLog

struct InstallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Installs the manual page, and completions for bash, zsh and fish.",
    discussion: """
      Writes files into the folder share below the prefix, where `man` and the shells look for \
      them: those of /usr/local are found for all users, those of ~/.local for you alone. zsh \
      finds completions in ~/.local only if fpath contains ~/.local/share/zsh/site-functions.
      """)

  @Option(
    help: "The folder above bin and share. By default the .local of your home folder.",
    transform: NegativeNumber.shown)
  var prefix: String?
  @Flag(help: "Print one JSON object per line.") var json = false

  func run() throws {
    let output = Output(isJSON: json)
    let base = URL(
      filePath: prefix ?? FileManager.default.homeDirectoryForCurrentUser.path + "/.local")
    for (path, text) in Self.files {
      let file = base.appending(path: path)
      do {
        try FileManager.default.createDirectory(
          at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text().utf8).write(to: file, options: .atomic)
      } catch {
        throw Failure(
          .cannotCreate,
          "Cannot write \(file.path): \(error.localizedDescription) Choose another "
            + "--prefix.")
      }
      if json {
        try output.object { $0.text("file", file.path) }
      } else {
        try output.line("Wrote \(file.path)")
      }
    }
    try output.flush()
  }

  /// The files below the prefix, and their contents.
  static let files: [(path: String, text: @Sendable () -> String)] = [
    ("share/man/man1/treering.1", { ManualPage.text }),
    (
      "share/bash-completion/completions/treering",
      { TreeRingTool.completionScript(for: .bash) }
    ),
    ("share/zsh/site-functions/_treering", { TreeRingTool.completionScript(for: .zsh) }),
    (
      "share/fish/vendor_completions.d/treering.fish",
      { TreeRingTool.completionScript(for: .fish) }
    ),
  ]
}
