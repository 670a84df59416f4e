// The declarations that the mistakes are about. Each other file of the folder is one of the
// commonest mistakes of those who begin; errors.txt has the compiler's errors.

import Foundation
import TreeRing

enum Genre: String, Codable, KeyConvertible { case fantasy, crime }

struct Book: Codable, Sendable {
  var title: String
  var genre: Genre
  var sales: Int
}

struct Author: Codable, Sendable { var name: String }

let books = Bucket<Book>("books")
let salesRank = Index(
  "SalesRank", on: books, version: 1, group: \.genre, by: .descending(\.sales))
