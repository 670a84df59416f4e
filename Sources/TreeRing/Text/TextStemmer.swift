// Languages whose words can be reduced to their stems. The rules are part of an index's definition:
// the same words have the same stems on every system, whatever libraries are installed there.

/// A language whose words a text index reduces to their stems.
///
/// The algorithms are those of Snowball 2.2.0 (https://snowballstem.org). By that of English,
/// `connection` and `connected` have the stem `connect`. A name stands for one algorithm for ever.
public enum TextStemmer: String, Hashable, Sendable, CaseIterable {
  /// Danish.
  case danish
  /// Dutch.
  case dutch
  /// English, by Porter's second algorithm.
  case english
  /// Finnish.
  case finnish
  /// French.
  case french
  /// German.
  case german
  /// Hungarian.
  case hungarian
  /// Italian.
  case italian
  /// Norwegian.
  case norwegian
  /// Portuguese.
  case portuguese
  /// Romanian.
  case romanian
  /// Russian.
  case russian
  /// Spanish.
  case spanish
  /// Swedish.
  case swedish
}
