// Writes the page of performance from the file of all samples: the generated part of the page, and
// a picture for each family of lines. The rest of the page is written by hand and stays.

internal import BenchmarkResults
internal import Foundation

@main
struct PerformanceReport {
  static let usage = """
    USAGE: performance-report FOLDER

    Reads FOLDER/performance.json, writes the part of FOLDER/performance.md between the two markers,
    and one picture for each family of lines into FOLDER/performance/.
    """

  static func main() {
    guard CommandLine.arguments.count == 2, let folder = CommandLine.arguments.last,
      !folder.hasPrefix("-")
    else {
      print(usage)
      exit(2)
    }
    do {
      try write(into: URL(filePath: folder))
    } catch {
      FileHandle.standardError.write(Data("performance-report: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func write(into folder: URL) throws {
    let results = try ResultFile(contentsOf: folder.appending(path: "performance.json"))
    let pictures = folder.appending(path: "performance")
    try FileManager.default.createDirectory(at: pictures, withIntermediateDirectories: true)
    var drawn: [String: String] = [:]
    for family in Family.all {
      let lines = family.lines(of: results)
      let picture = family.isCurves ? curves(of: lines) : bars(of: lines)
      guard let picture else { continue }
      let name = family.name + ".svg"
      try Data(picture.utf8).write(to: pictures.appending(path: name), options: .atomic)
      drawn[family.name] = "performance/" + name
    }
    let page = folder.appending(path: "performance.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let replaced = try replaceGenerated(of: text, with: tables(of: results, pictures: drawn))
    try Data(replaced.utf8).write(to: page, options: .atomic)
  }
}
