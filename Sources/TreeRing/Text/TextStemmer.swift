// Languages whose words can be reduced to their stems. The rules are part of an index's definition:
// the same words have the same stems on every system, whatever libraries are installed there.

/// A language whose words a text index reduces to their stems.
///
/// The algorithms are those of Snowball 2.2.0 (https://snowballstem.org). That of English is
/// Porter's second one: `connection` and `connected` have the stem `connect`. A name stands for one
/// algorithm for ever.
public enum TextStemmer: String, Hashable, Sendable, CaseIterable {
  case danish, dutch, english, finnish, french, german, hungarian, italian, norwegian, portuguese
  case romanian, russian, spanish, swedish
}
