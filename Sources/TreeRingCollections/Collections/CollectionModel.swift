// What a collection holds, and where it comes from: models, their dictionary form, the data source.

public import Foundation

/// A value in a model's dictionary form.
public enum DictionaryValue: Hashable, Sendable, Codable {
  /// No value; as a property it clears one.
  case null
  /// A truth value.
  case bool(Bool)
  /// A number.
  case number(Double)
  /// A whole number of 2⁵³ or more, or of as much below zero: a `Double` might not hold it exactly.
  case integer(Decimal)
  /// A text.
  case text(String)
  /// Values in order.
  case list([DictionaryValue])
  /// Values by name.
  case dictionary([String: DictionaryValue])

  /// Reads any JSON, or what is like it.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = Self.integer(beside: value, in: container) ?? .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([DictionaryValue].self) {
      self = .list(value)
    } else {
      self = .dictionary(try container.decode([String: DictionaryValue].self))
    }
  }

  /// The whole number of 64 bits that is decoded as `value`, if that is too large to be surely equal to it.
  private static func integer(
    beside value: Double, in container: any SingleValueDecodingContainer
  ) -> DictionaryValue? {
    if value.magnitude < 0x1p53 { return nil }
    if let signed = try? container.decode(Int64.self) { return .integer(Decimal(signed)) }
    return (try? container.decode(UInt64.self)).map { .integer(Decimal($0)) }
  }

  /// Writes it as it would stand in JSON.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .dictionary(let value): try container.encode(value)
    }
  }
}

/// An element of a collection.
public protocol CollectionModel: Codable, Sendable {
  /// What tells models apart, as Swift compares texts: two spellings of one letter are the same. Never changes.
  var identifier: String { get }
  /// Takes over properties; a property that is null is cleared, one that is not named stays. It must not
  /// read the collection, which waits for it.
  ///
  /// - Returns: Whether anything changed.
  mutating func update(with properties: [String: DictionaryValue]) throws -> Bool
}

extension CollectionModel {
  /// The model's properties by name: those that its Codable form has.
  public var dictionary: [String: DictionaryValue] {
    get throws {
      try JSONDecoder().decode(
        [String: DictionaryValue].self, from: try JSONEncoder().encode(self))
    }
  }
}

/// A model that is a value: taking over properties follows from its Codable form, and to become equal to another one it
/// is replaced by it, if their Codable forms differ. A class must do it itself, so that the instance stays the
/// same.
public protocol ValueModel: CollectionModel {}

extension ValueModel {
  /// Takes over properties by way of the Codable form; the value stays as it was if that fails.
  public mutating func update(with properties: [String: DictionaryValue]) throws -> Bool {
    let old = try dictionary
    var new = old
    for (name, value) in properties { new[name] = value == .null ? nil : value }
    if new == old { return false }
    self = try JSONDecoder().decode(Self.self, from: try JSONEncoder().encode(new))
    return true
  }
}

extension CollectionModel {
  /// Becomes equal to another model of the same identifier: properties that it lacks are cleared.
  mutating func become(_ other: Self) throws -> Bool {
    if Self.self is any ValueModel.Type {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      if try encoder.encode(self) == encoder.encode(other) { return false }
      self = other
      return true
    }
    var properties = try other.dictionary
    for name in try dictionary.keys where properties[name] == nil { properties[name] = .null }
    return try update(with: properties)
  }
}

/// Turns what is received into models.
public protocol CollectionDataSource<Data, Model>: Sendable {
  /// What is received of a child.
  associatedtype Data: Sendable
  /// What is made of it.
  associatedtype Model: CollectionModel
  /// Makes a model of data, and may wait for more to arrive for it; nil leaves the child out. Calls for
  /// different children run at the same time. The task is cancelled when the result is not wanted any
  /// more.
  func prepare(_ data: Data) async throws -> Model?
}

/// A data source that is a closure.
struct ClosureDataSource<Data: Sendable, Model: CollectionModel>: CollectionDataSource {
  let body: @Sendable (Data) async throws -> Model?
  func prepare(_ data: Data) async throws -> Model? { try await body(data) }
}
