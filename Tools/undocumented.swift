// Lists the undocumented public symbols in folders of symbol graphs, and fails if there are any.
//
//     swift Tools/undocumented.swift FOLDER…
//
// It ignores names that begin with an underscore, which are internal to the library. It also
// ignores implementations of requirements, which are documented at the requirement.

import Foundation

struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { var precise: String }
    struct Kind: Decodable { var identifier: String }
    struct Comment: Decodable {}
    var identifier: Identifier
    var kind: Kind
    var pathComponents: [String]
    var docComment: Comment?
  }
  struct Relationship: Decodable {
    struct Origin: Decodable {}
    var source: String
    var sourceOrigin: Origin?
  }
  var symbols: [Symbol]
  var relationships: [Relationship]
}

var undocumented: Set<String> = []
var count = 0
for folder in CommandLine.arguments.dropFirst() {
  let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
  for name in names where name.hasSuffix(".symbols.json") {
    let data = try Data(contentsOf: URL(filePath: folder).appending(path: name))
    let graph = try JSONDecoder().decode(SymbolGraph.self, from: data)
    let described = Set(
      graph.relationships.compactMap { $0.sourceOrigin == nil ? nil : $0.source })
    for symbol in graph.symbols where symbol.kind.identifier != "swift.extension" {
      count += 1
      let isOwn = symbol.pathComponents.contains { $0.hasPrefix("_") }
      if symbol.docComment != nil || isOwn || described.contains(symbol.identifier.precise) {
        continue
      }
      undocumented.insert(symbol.pathComponents.joined(separator: "."))
    }
  }
}
for name in undocumented.sorted() { print("undocumented: \(name)") }
print("\(count) public symbols, \(undocumented.count) without documentation")
exit(undocumented.isEmpty ? 0 : 1)
