// Runs the README's program and checks its output.

import Foundation
import Testing

@testable import TreeRing

@Suite("The README", .leavesSoundStores) struct ReadmeTests {
  private struct Book: Codable { var title: String, genre: String, sales: Int }

  @Test("The program on the first screen does what its comments say")
  func program() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }

    let books = Bucket<Book>("books")
    let salesRank = GroupIndex("SalesRank", on: books, version: 1) { book in
      Place(in: book.genre, by: .descending(book.sales), .ascending(book.title))
    }

    let store = try Store(at: folder.path, indexes: [salesRank])
    let first = try store.write { tx in
      try tx.put(Book(title: "Dune", genre: "sci-fi", sales: 20), for: "dune", in: books)
      try tx.put(Book(title: "Ubik", genre: "sci-fi", sales: 9), for: "ubik", in: books)
    }
    try store.write { tx in try tx.delete("dune", in: books) }

    let then = try store.snapshot(at: .commit(first.commit))
    #expect(try then.get("dune", in: books)?.title ?? "gone" == "Dune")
    #expect(try store.snapshot().index("SalesRank").count(in: "sci-fi") == 1)
  }

  @Test("Every line of this test's program is in the README")
  func sameText() throws {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { folder.deleteLastPathComponent() }
    let readme = try String(
      contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)
    let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
    let lines = source.components(separatedBy: "\n")
    let start = try #require(lines.firstIndex { $0.contains("let books = Bucket") })
    let end = try #require(lines.firstIndex { $0.contains("let then = try") })
    for line in lines[start...end] {
      let text = line.trimmingCharacters(in: .whitespaces)
      #expect(text.isEmpty || text.contains("Store(at:") || readme.contains(text))
    }
  }
}
