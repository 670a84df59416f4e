// Writes the reference documentation as Markdown, from the symbol graphs of the products, and fails
// if a public symbol has no documentation.
//
//     swift Tools/reference.swift GRAPHS OUTPUT
//
// GRAPHS has a folder of symbol graphs for each product. OUTPUT is written anew: a page for each
// type, with the signatures and comments of its members in the order of the sources, and an index.
// Names that begin with an underscore are internal to the library. An implementation of a
// requirement is documented at the requirement.

import Foundation

struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { var precise: String }
    struct Kind: Decodable { var identifier: String }
    struct Comment: Decodable {
      struct Line: Decodable { var text: String }
      var lines: [Line]
    }
    struct Fragment: Decodable { var spelling: String }
    struct Location: Decodable {
      struct Position: Decodable { var line: Int }
      var uri: String
      var position: Position
    }
    var identifier: Identifier
    var kind: Kind
    var pathComponents: [String]
    var docComment: Comment?
    var declarationFragments: [Fragment]?
    var location: Location?
  }
  struct Relationship: Decodable {
    struct Origin: Decodable {}
    var source: String
    var target: String
    var kind: String
    var targetFallback: String?
    var sourceOrigin: Origin?
  }
  var symbols: [Symbol]
  var relationships: [Relationship]
}

typealias Symbol = SymbolGraph.Symbol

extension Symbol {
  var name: String { pathComponents.joined(separator: ".") }
  var isInternal: Bool { pathComponents.contains { $0.hasPrefix("_") } }
  var isType: Bool {
    ["class", "struct", "enum", "protocol", "typealias", "actor"].contains {
      kind.identifier == "swift.\($0)"
    }
  }
  /// The declaration without the bodies of properties' accessors, which say `get` at most.
  var declaration: String {
    (declarationFragments ?? []).map(\.spelling).joined()
      .replacing("\n", with: " ").replacing(" { get }", with: "")
  }
  /// The comment in Markdown, with links to symbols as code and samples as blocks of Swift.
  var text: String {
    var lines: [String] = []
    var isSample = false
    for line in docComment?.lines.map(\.text) ?? [] {
      let startsSample = line.hasPrefix("    ") && (lines.last ?? "").isEmpty
      if !isSample, startsSample {
        lines.append("```swift")
        isSample = true
      } else if isSample, !line.hasPrefix("    "), !line.isEmpty {
        let blanks = lines.reversed().prefix { $0.isEmpty }.count
        lines.removeLast(blanks)
        lines += ["```", ""]
        isSample = false
      }
      lines.append(isSample ? String(line.dropFirst(4)) : Self.linked(line))
    }
    if isSample { lines.append("```") }
    return lines.joined(separator: "\n")
  }
  private static func linked(_ line: String) -> String {
    line.replacing(#/``([^`]+)``/#) { "`\($0.1.replacing("/", with: "."))`" }
      .replacing(#/<doc:([^>]+)>/#) { "*\($0.1)*" }
  }
  /// The first sentence of the comment.
  var summary: String {
    let joined = (text.components(separatedBy: "\n\n").first ?? "").replacing("\n", with: " ")
    return joined.firstRange(of: ". ").map { String(joined[..<$0.lowerBound]) + "." } ?? joined
  }
}

/// The documented symbols of one product.
struct Product {
  let name: String
  var symbols: [Symbol] = []
  var conformances: [String: Set<String>] = [:]
  var described: Set<String> = []

  init(_ name: String, graphs folder: URL) throws {
    self.name = name
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    where file.hasSuffix(".symbols.json") {
      let data = try Data(contentsOf: folder.appending(path: file))
      let graph = try JSONDecoder().decode(SymbolGraph.self, from: data)
      symbols += graph.symbols.filter { !$0.isInternal }
      for relation in graph.relationships {
        if relation.sourceOrigin != nil { described.insert(relation.source) }
        if relation.kind == "conformsTo" || relation.kind == "inheritsFrom" {
          let name =
            relation.targetFallback
            ?? symbols.first { $0.identifier.precise == relation.target }?.name
          if let name = name?.components(separatedBy: ".").last, !name.hasPrefix("_") {
            conformances[relation.source, default: []].insert(name)
          }
        }
      }
    }
    symbols.sort {
      ($0.location?.uri ?? "", $0.location?.position.line ?? 0, $0.name)
        < ($1.location?.uri ?? "", $1.location?.position.line ?? 0, $1.name)
    }
  }

  var undocumented: [String] {
    symbols.filter {
      $0.kind.identifier != "swift.extension" && $0.docComment == nil
        && !described.contains($0.identifier.precise)
    }.map(\.name)
  }

  /// The product's own types that stand in no other.
  var types: [Symbol] {
    symbols.filter { $0.pathComponents.count == 1 && $0.isType }.sorted { $0.name < $1.name }
  }

  /// The names of types of other modules that the product extends.
  var extended: [String] {
    let own = Set(types.map(\.name))
    return Set(symbols.filter { $0.docComment != nil }.map { $0.pathComponents[0] })
      .subtracting(own).sorted()
  }

  func page(_ name: String) -> String {
    let own = symbols.first { $0.pathComponents == [name] && $0.isType }
    var text = own.map { "# \(name)\n\n" + section($0) } ?? "\n## \(name)\n"
    let home = own?.location?.uri
    let all = symbols.filter { $0.pathComponents.count > 1 && $0.pathComponents[0] == name }
    // The file that declares the type comes first.
    let nested = all.filter { $0.location?.uri == home } + all.filter { $0.location?.uri != home }
    let types = nested.filter(\.isType)
    let homes = [[name]] + types.map(\.pathComponents)
    for home in homes {
      if home.count > 1, let type = types.first(where: { $0.pathComponents == home }) {
        text += "\n## \(type.name)\n\n" + section(type)
      }
      for member in nested
      where Array(member.pathComponents.dropLast()) == home && !member.isType
        && member.kind.identifier != "swift.extension"
        && (member.docComment != nil || !described.contains(member.identifier.precise))
      {
        text +=
          "\n\(home.count > 1 ? "####" : "###") \(member.pathComponents.last ?? "")\n\n"
          + section(member)
      }
    }
    return text
  }

  private func section(_ symbol: Symbol) -> String {
    var text = "```swift\n\(symbol.declaration)\n```\n"
    if !symbol.text.isEmpty { text += "\n\(symbol.text)\n" }
    let hidden: Set<String> = ["Copyable", "Escapable", "SendableMetatype"]
    let protocols = conformances[symbol.identifier.precise, default: []].subtracting(hidden)
      .sorted()
    if symbol.isType, !protocols.isEmpty {
      text += "\nConforms to \(protocols.map { "`\($0)`" }.joined(separator: ", ")).\n"
    }
    return text
  }
}

let graphs = URL(filePath: CommandLine.arguments[1])
let output = URL(filePath: CommandLine.arguments[2])
let files = FileManager.default
try? files.removeItem(at: output)
var index = """
  # Reference

  The public types of each product, written by `Tools/docs` from the comments of the sources.

  """
var missing: [String] = []
var count = 0
for name in try files.contentsOfDirectory(atPath: graphs.path).sorted() {
  let product = try Product(name, graphs: graphs.appending(path: name))
  missing += product.undocumented
  count += product.symbols.count { $0.kind.identifier != "swift.extension" }
  let folder = output.appending(path: name)
  try files.createDirectory(at: folder, withIntermediateDirectories: true)
  index += "\n## \(name)\n\n"
  func write(_ text: String, page: String, summary: String) throws {
    try text.write(
      to: folder.appending(path: page + ".md"), atomically: true, encoding: .utf8)
    index += "- [\(page)](\(name)/\(page).md): \(summary)\n"
  }
  for type in product.types {
    try write(product.page(type.name), page: type.name, summary: type.summary)
  }
  if !product.extended.isEmpty {
    let text = "# Extensions\n" + product.extended.map(product.page).joined()
    let names = product.extended.map { "`\($0)`" }.joined(separator: ", ")
    try write(text, page: "Extensions", summary: "members added to \(names).")
  }
}
try index.write(to: output.appending(path: "README.md"), atomically: true, encoding: .utf8)
for name in missing.sorted() { print("undocumented: \(name)") }
print("\(count) public symbols, \(missing.count) without documentation")
exit(missing.isEmpty ? 0 : 1)
