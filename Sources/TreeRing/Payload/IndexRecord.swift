// The definition of a group index, as operations and the catalog hold it. IndexRecord+Coding.swift
// has its bytes.

/// The definition of a group index in the log and in the catalog.
package struct IndexRecord: Hashable, Sendable {
  /// The rule that gives a row its places.
  package enum Definition: Hashable, Sendable {
    /// The index was removed.
    case removed
    /// By fields of a JSON object; the canonical text of the definition.
    case fields(String)
    /// By fields of a JSON object, with sums of one; the canonical text of the definition.
    case summed(String)
    /// By a closure that some process registers.
    case code(buckets: [String])
    /// By a closure that some process registers, with sums of a number that another closure gives.
    case summedCode(buckets: [String], decimals: UInt32)
    /// By another index, as it was defined then, and a closure that some process registers, which
    /// selects its rows.
    indirect case filtered(IndexRecord, buckets: [String])
    /// By another index, as it was defined then, and fields of a JSON object; the canonical text of
    /// the filter.
    indirect case selected(IndexRecord, String)
    /// Manual: rows of these buckets stand where they were placed.
    case manual(buckets: [String])
    /// As the definition inside, with at most one row in each group: a rule that commits keep.
    indirect case unique(Definition)
    /// Rows grouped by the keys of other rows that they refer to, which must exist: by a field, or
    /// by a closure that some process registers. The canonical text of the reference.
    case reference(String)
    /// Rows in the order of the dates at which they vanish: by a field, or by a closure that some
    /// process registers. The canonical text of the expiry.
    case expiry(String)
    /// By the words of fields of a JSON object; the canonical text of the definition.
    case text(String)
    /// By the keys and the metadata of the events of a bucket.
    case events(EventGrouping, bucket: String)

    package static func == (a: Definition, b: Definition) -> Bool {
      switch (a, b) {
      case (.removed, .removed): true
      case (.fields(let a), .fields(let b)), (.reference(let a), .reference(let b)),
        (.expiry(let a), .expiry(let b)), (.text(let a), .text(let b)),
        (.summed(let a), .summed(let b)):
        a.isSameName(as: b)
      case (.code(let a), .code(let b)), (.manual(let a), .manual(let b)):
        a.areSameNames(as: b)
      case (.summedCode(let a, let decimals), .summedCode(let b, let others)):
        a.areSameNames(as: b) && decimals == others
      case (.filtered(let a, let buckets), .filtered(let b, let others)):
        a == b && buckets.areSameNames(as: others)
      case (.selected(let a, let text), .selected(let b, let other)):
        a == b && text.isSameName(as: other)
      case (.unique(let a), .unique(let b)): a == b
      case (.events(let a, let bucket), .events(let b, let other)):
        a == b && bucket.isSameName(as: other)
      default: false
      }
    }
    package func hash(into hasher: inout Hasher) {
      switch self {
      case .removed: hasher.combine(0)
      case .fields(let text), .reference(let text), .expiry(let text), .text(let text),
        .summed(let text):
        text.hashName(into: &hasher)
      case .code(let buckets), .manual(let buckets), .summedCode(let buckets, _):
        hasher.combine(buckets.names)
      case .filtered(let parent, _), .selected(let parent, _): hasher.combine(parent)
      case .unique(let definition): hasher.combine(definition)
      case .events(let grouping, let bucket):
        hasher.combine(grouping)
        bucket.hashName(into: &hasher)
      }
    }
  }
  @ExactName package var name: String
  /// The number of this definition in this store; a new definition gets a new number.
  package var number: UInt32
  /// The version that its author assigned.
  package var version: UInt32
  package var definition: Definition

  /// Whether it is a text index.
  var isText: Bool { if case .text = definition { true } else { false } }

  package init(name: String, number: UInt32, version: UInt32, definition: Definition) {
    self.name = name
    self.number = number
    self.version = version
    self.definition = definition
  }

  /// Whether it is a rule that commits must keep: for sums, that they can be exact.
  var isRule: Bool {
    switch definition {
    case .unique, .reference, .expiry, .summed, .summedCode: true
    case .removed, .fields, .code, .filtered, .selected, .manual, .text, .events: false
    }
  }

  /// Whether it is the rule that rows vanish at a date.
  var isExpiry: Bool { if case .expiry = definition { true } else { false } }
}
