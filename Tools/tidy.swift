// Checks rules that neither the compiler nor the formatter knows, and fails if one is broken:
//
// - A file has at most 400 lines, a line at most 100 columns. A line without a space in its last
//   part, such as an address, may be longer.
// - A comment begins with a noun or a verb, in scripts too. "Whether" is for Bool only.
// - The code of an example in a comment closes each brace that it opens.
// - A folder uses only types of the folders before it (folders.txt).
// - Only TreeRingPlatform imports the C library and Synchronization.
// - No code of Sources names a mistake: deliberate ones are patches (Tests/Mistakes).
// - The public declarations are those of public.txt, so that the interface grows on purpose. With
//   the argument `--record`, the program writes that file.

import Foundation

let maxLineCount = 400
let maxColumnCount = 100
var complaints: [String] = []

/// The Swift files below a folder, by path.
func files(below folder: String) -> [(path: String, lines: [Substring])] {
  let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
  return names.filter { $0.hasSuffix(".swift") && !$0.contains(".build") }.sorted().map { name in
    let path = "\(folder)/\(name)"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return (path, text.split(separator: "\n", omittingEmptySubsequences: false))
  }
}

func checkSize(_ path: String, _ lines: [Substring]) {
  // The last piece follows the last line feed.
  if lines.count - 1 > maxLineCount { complaints.append("\(path): \(lines.count - 1) lines") }
  for (index, line) in lines.enumerated() where line.count > maxColumnCount {
    complaints.append("\(path):\(index + 1): \(line.count) columns")
  }
}

let questions = ["What", "How", "Where", "Who", "Which", "Whose", "Why", "When"]

func checkComments(_ path: String, _ lines: [Substring]) {
  var previous: Substring = ""
  for (index, line) in lines.enumerated() {
    let text = line.drop { $0 == " " }
    defer { previous = text }
    guard text.hasPrefix("//"), !previous.hasPrefix("//") else { continue }
    let word = text.drop { "/ ".contains($0) }.prefix { $0.isLetter }
    guard text.hasPrefix("/// ") else {
      complain(ifQuestion: word, path, index)
      continue
    }
    let declaration = lines[index...].first { line in
      !["///", "@"].contains { line.drop { $0 == " " }.hasPrefix($0) }
    }
    let isBool = ["Bool", "= true", "= false", "func ", " is"].contains {
      declaration?.contains($0) ?? false
    }
    complain(ifQuestion: word, path, index)
    if word == "Whether", !isBool {
      complaints.append("\(path):\(index + 1): a comment begins with “\(word)”")
    }
  }
}

func complain(ifQuestion word: Substring, _ path: String, _ index: Int) {
  if questions.contains(String(word)) {
    complaints.append("\(path):\(index + 1): a comment begins with “\(word)”")
  }
}

/// Checks the examples, which are indented within their comments.
func checkExamples(_ path: String, _ lines: [Substring]) {
  var (start, depth) = (0, 0)
  for (index, line) in lines.enumerated() {
    let text = line.drop { $0 == " " }
    if text.hasPrefix("///     ") {
      if depth == 0 { start = index }
      for letter in text { depth += letter == "{" ? 1 : letter == "}" ? -1 : 0 }
    } else if text != "///" {
      if depth != 0 { complaints.append("\(path):\(start + 1): an example lacks a brace") }
      depth = 0
    }
  }
}

/// Checks the head of a script, where its comment is.
func checkScript(_ path: String) {
  let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  for (index, line) in lines.enumerated() where line.hasPrefix("# ") {
    if index > 0, lines[index - 1].hasPrefix("# ") { continue }
    complain(ifQuestion: line.dropFirst(2).prefix { $0.isLetter }, path, index)
  }
}

func checkImports(_ path: String, _ lines: [Substring]) {
  guard ["Sources/", "Tests/"].contains(where: path.hasPrefix), !path.contains("Platform/") else {
    return
  }
  let modules = ["Synchronization", "Darwin", "Glibc", "Musl"]
  for (index, line) in lines.enumerated()
  where modules.contains(where: { line.hasSuffix("import \($0)") }) {
    complaints.append("\(path):\(index + 1): import TreeRingPlatform instead")
  }
}

func checkMistakes(_ path: String, _ lines: [Substring]) {
  for (index, line) in lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
    let text = line.lowercased()
    for word in ["mistake", "sabotage", "mutant"] where text.contains(word) {
      complaints.append("\(path):\(index + 1): production code knows of a \(word)")
    }
  }
}

/// The names of types in a file: those used, those declared, and those declared outside of others.
struct TypeNames {
  var used: Set<String> = []
  var declared: Set<String> = []
  var topLevel: Set<String> = []
}

/// The names of types in Swift code, without comments and texts. A word after a dot is a member.
func typeNames(in lines: [Substring]) -> TypeNames {
  let kinds: Set<String> = ["struct", "class", "enum", "protocol", "typealias", "actor"]
  var result = TypeNames()
  var isInText = false
  for line in lines {
    if line.contains("\"\"\"") {
      isInText.toggle()
      continue
    }
    if isInText { continue }
    var kind: String?
    var rest = line[...]
    while let first = rest.unicodeScalars.first {
      if rest.hasPrefix("//") { break }
      if first == "\"" {
        rest = rest.dropFirst()
        while let next = rest.first, next != "\"" { rest = rest.dropFirst(next == "\\" ? 2 : 1) }
        rest = rest.dropFirst()
      } else if CharacterSet.letters.contains(first) || first == "_" {
        let word = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        let isMember = line[..<rest.startIndex].hasSuffix(".")
        rest = rest.dropFirst(word.count)
        if kind != nil {
          result.declared.insert(word)
          if line.first != " " { result.topLevel.insert(word) }
        }
        kind = kinds.contains(word) ? word : nil
        if !isMember, word.first?.isUppercase == true { result.used.insert(word) }
      } else {
        if first != " " { kind = nil }
        rest = rest.dropFirst()
      }
    }
  }
  return result
}

func checkOrder(of target: String, _ order: [String], interface prefixes: [String]) {
  let rank = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
  guard let own = rank["."] else { return complaints.append("folders.txt: \(target) has no “.”") }
  var uses: [(path: String, rank: Int, names: Set<String>)] = []
  var home: [String: Int] = [:]
  for (path, lines) in files(below: target) {
    let parts = path.dropFirst(target.count + 1).split(separator: "/")
    let folder = parts.count > 1 ? String(parts[0]) : "."
    guard var place = rank[folder] else {
      complaints.append("folders.txt: \(target) has a folder \(folder)")
      continue
    }
    let isInterface = prefixes.contains { parts[parts.count - 1].hasPrefix($0) }
    if place < own, isInterface { place = own }
    let found = typeNames(in: lines)
    for name in found.topLevel { home[name] = place }
    uses.append((path, place, found.used.subtracting(found.declared)))
  }
  for (path, place, names) in uses {
    for name in names.sorted() where home[name] ?? 0 > place {
      complaints.append("\(path): \(name) belongs to \(order[home[name] ?? 0]), a later folder")
    }
  }
}

/// The public declarations of a file with their counts, such as `TreeRing Store.snapshot`. The
/// indentation, which the formatter keeps, tells the type that a declaration stands in.
func publicNames(_ path: String, _ lines: [Substring]) -> [String] {
  let target = path.split(separator: "/")[1]
  let kinds = "func|var|let|init|struct|class|enum|protocol|typealias|subscript|actor|extension"
  let attributes = #"(?:@\w+(?:\([^)]*\))? )*"#
  let declaration = try? Regex(
    "^( *)\(attributes)((?:[a-z]+(?:\\(set\\))? )*)(\(kinds))\\b[ ?]*([^ (:{,]*)",
    as: (Substring, Substring, Substring, Substring, Substring).self)
  guard let declaration else { return [] }
  var scopes: [(indent: Int, name: String)] = []
  var names: [String] = []
  for line in lines where !line.isEmpty {
    guard let match = line.firstMatch(of: declaration) else { continue }
    let (indent, kind) = (match.1.count, match.3)
    scopes.removeAll { $0.indent >= indent }
    let isUnnamed = ["init", "subscript"].contains(kind)
    let word = match.4.prefix { $0.isLetter || $0.isNumber || "_.`".contains($0) }
    // An operator has no letters.
    let name = isUnnamed ? String(kind) : String(word.isEmpty ? match.4 : word)
    if match.2.contains("public ") {
      names.append("\(target) " + (scopes.map(\.name) + [name]).joined(separator: "."))
    }
    scopes.append((indent, name))
  }
  return names
}

func checkInterface() {
  let names = files(below: "Sources").flatMap { publicNames($0.path, $0.lines) }
  let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
  let found = counts.map { $0.value == 1 ? $0.key : "\($0.key) × \($0.value)" }.sorted()
  let list = "Tools/public.txt"
  if CommandLine.arguments.contains("--record") {
    try? (found.joined(separator: "\n") + "\n").write(
      toFile: list, atomically: true, encoding: .utf8)
  }
  let text = (try? String(contentsOfFile: list, encoding: .utf8)) ?? ""
  let recorded = Set(text.split(separator: "\n").map(String.init))
  for name in found where !recorded.contains(name) {
    complaints.append("\(list) lacks the public \(name); record it with Tools/tidy --record")
  }
  for name in recorded.subtracting(found).sorted() {
    complaints.append("\(list) has \(name), which is no longer public")
  }
  print("\(names.count) public declarations")
}

for folder in ["Sources", "Tests", "Tools", "Packages", "Snippets", "Benchmarks/Sources"] {
  for (path, lines) in files(below: folder) {
    checkSize(path, lines)
    checkComments(path, lines)
    checkExamples(path, lines)
    checkImports(path, lines)
    if folder == "Sources" { checkMistakes(path, lines) }
  }
}
let scripts = (try? FileManager.default.contentsOfDirectory(atPath: "Tools")) ?? []
for name in scripts.sorted() where !name.contains(".") { checkScript("Tools/\(name)") }
checkScript(".ci/run")
let orders = try String(contentsOfFile: "Tools/folders.txt", encoding: .utf8)
for line in orders.split(separator: "\n") where !line.hasPrefix("#") {
  let parts = line.split(separator: ":")
  let sides = parts[1].split(separator: "|")
  checkOrder(
    of: String(parts[0]), sides[0].split(separator: " ").map(String.init),
    interface: sides.count > 1 ? sides[1].split(separator: " ").map(String.init) : [])
}
checkInterface()
for complaint in complaints { print(complaint) }
print(complaints.isEmpty ? "Everything is tidy." : "\(complaints.count) complaints.")
exit(complaints.isEmpty ? 0 : 1)
