// A search of a text index: the typed form. TextQueryParser.swift has the form that a user types.

public import TreeRingLog

/// A condition for the words of a row.
///
///     let query = TextQuery.and([
///       .near(["worm", "spice"], within: 5), .prefix("arra"), .field("title", .phrase("dune")),
///     ])
///
/// Texts in a query are cut into words as those of the index are. A text without words is ignored.
public indirect enum TextQuery: Hashable, Sendable {
  /// Consecutive words in one field; a word if the text is one.
  case phrase(String)
  /// Consecutive words in one field, of which the last one begins so.
  case prefix(String)
  /// Rows that all the conditions match.
  case and([TextQuery])
  /// Rows that one of the conditions matches.
  case or([TextQuery])
  /// Rows that the first condition matches and the second one does not.
  case not(TextQuery, TextQuery)
  /// Phrases in one field, with at most so many words between the end of the first and the
  /// beginning of the last of them. A number below 0 means 0.
  case near([String], within: Int)
  /// A condition for the words of one field.
  case field(String, TextQuery)

  /// A condition as a user types it.
  ///
  /// - `dune`: the word, without regard to case and diacritics.
  /// - `"sand worm"`: the phrase.
  /// - `arra*`: words that begin so.
  /// - `dune worm`: both words; `AND` means the same.
  /// - `dune OR arrakis`: one of them.
  /// - `dune NOT (film OR movie)`: the first and none of the others.
  /// - `NEAR(sand worm, 5)`: at most 5 words between them; 10 if no number is given.
  /// - `title:dune`: the word in that field.
  ///
  /// Words side by side bind most tightly, then `NOT`, `AND` and `OR`. Text without words, as the
  /// empty text, matches no row.
  ///
  /// Throws `invalidInput` with the offset of the mistake, in bytes.
  public init(_ text: String) throws(TreeRingError) {
    var parser = TextQueryParser(text)
    self = try parser.parse()
  }
}
