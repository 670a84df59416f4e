// Tools/build with a compiler that only notes its arguments: the options of each kind of build, and
// the answers where a part is missing.

#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @Suite("The command that builds the tool") struct BuildCommandTests {
    private static let command = URL(filePath: #filePath)
      .deletingLastPathComponent().appending(path: "../../Tools/build").standardized.path

    /// A compiler of version 9.8.7 that builds a copy of `true`.
    private static func compiler(sdks: String) -> String {
      """
      #!/bin/bash
      folder="$(dirname "$0")"
      case "$*" in
        --version) echo "Swift version 9.8.7 (swift-9.8.7-RELEASE)" ;;
        "sdk list") echo "\(sdks)" ;;
        *--show-bin-path*) echo "$folder/out" ;;
        *) mkdir -p "$folder/out" && cp /bin/true "$folder/out/treering" && echo "$*" >&2 ;;
      esac
      """
    }

    private func build(
      _ arguments: [String], sdks: String = "", lz4: String = ""
    ) throws -> (code: Int32, output: String, errors: String, folder: String) {
      let folder = try TemporaryFolder()
      let program = folder.path + "/swift"
      try Self.compiler(sdks: sdks).write(toFile: program, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
      if !lz4.isEmpty {
        try "".write(toFile: folder.path + "/liblz4.a", atomically: true, encoding: .utf8)
      }
      let process = Process()
      process.executableURL = URL(filePath: Self.command)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging([
        "PATH": folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
        "TREERING_LZ4": lz4.isEmpty ? "" : folder.path,
      ]) { $1 }
      let (output, errors) = (Pipe(), Pipe())
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      let texts = [output, errors].map {
        String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      }
      process.waitUntilExit()
      return (process.terminationStatus, texts[0], texts[1], folder.path)
    }

    @Test("Without options the libraries of Swift stay outside; the path is printed, and the size")
    func plain() throws {
      let built = try build([])
      #expect(built.code == 0)
      #expect(built.output == built.folder + "/out/treering\n")
      #expect(
        built.errors.hasPrefix("build -c release --scratch-path .build-tool --product treering\n"))
      #expect(built.errors.contains("treering weighs 0.0 MB, stripped 0.0 MB"))
    }

    @Test("--static puts Swift's libraries inside, in a folder of its own")
    func withLibraries() throws {
      let built = try build(["--static"])
      #expect(built.code == 0)
      #expect(built.errors.contains("--scratch-path .build-tool-static"))
      #expect(built.errors.contains("--static-swift-stdlib"))
    }

    @Test(
      "--musl takes the SDK of the compiler's version and the LZ4 for it, or says what is missing")
    func allLibraries() throws {
      for sdks in [
        "", "No Swift SDKs are currently installed.", "swift-9.8.6-RELEASE_static-linux-0.1.0",
      ] {
        let refused = try build(["--musl"], sdks: sdks, lz4: "yes")
        #expect(refused.code == 1 && refused.output.isEmpty)
        #expect(refused.errors.hasPrefix("Swift 9.8.7 has no SDK for static Linux programs here."))
        #expect(refused.errors.contains("swift sdk install URL --checksum SUM"))
      }
      let sdk = "swift-9.8.7-RELEASE_static-linux-0.1.0"
      let lacking = try build(["--musl"], sdks: sdk)
      #expect(lacking.code == 1 && lacking.errors.contains("TREERING_LZ4=FOLDER"))
      let built = try build(["--musl"], sdks: sdk, lz4: "yes")
      #expect(built.code == 0)
      #expect(built.errors.contains("-swift-linux-musl -Xcc -I\(built.folder)"))
      #expect(built.errors.contains("-Xlinker -L\(built.folder)"))
    }

    @Test("Other options are refused", arguments: [["--what"], ["--static", "--musl"]])
    func unknown(_ arguments: [String]) throws {
      let refused = try build(arguments)
      #expect(refused.code == 1)
      #expect(refused.errors == "Usage: Tools/build [--static | --musl]\n")
    }
  }
#endif
