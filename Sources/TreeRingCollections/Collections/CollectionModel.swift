// The contents of a collection and their origin: models, their dictionary form, the data source.

public import TreeRingPlatform

/// A value in a model's dictionary form.
public enum DictionaryValue: Hashable, Sendable, Codable {
  /// No value; as a property it clears the property.
  case null
  /// A truth value.
  case bool(Bool)
  /// A number.
  case number(Double)
  /// A whole number whose magnitude is 2⁵³ or more: a `Double` might not hold it exactly.
  case integer(Decimal)
  /// A text.
  case text(String)
  /// Values in order.
  case list([DictionaryValue])
  /// Values by name.
  case dictionary([String: DictionaryValue])

  /// Decodes any JSON or JSON-like data.
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

  /// The 64-bit integer behind the decoded `value`, if `value` is too large to be surely exact;
  /// else nil.
  private static func integer(
    beside value: Double, in container: any SingleValueDecodingContainer
  ) -> DictionaryValue? {
    if value.magnitude < 0x1p53 { return nil }
    if let signed = try? container.decode(Int64.self) { return .integer(Decimal(signed)) }
    return (try? container.decode(UInt64.self)).map { .integer(Decimal($0)) }
  }

  /// Encodes the value in its JSON form.
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
  /// The identity of the model, compared like Swift's texts: two spellings of one letter are equal.
  /// Never changes.
  var identifier: String { get }
  /// Applies properties. A null property is cleared; a missing one stays. The method must not read
  /// the collection, because the collection waits for it.
  ///
  /// - Returns: Whether the model changed.
  mutating func update(with properties: [String: DictionaryValue]) throws -> Bool
}

extension CollectionModel {
  /// The model's properties by name, from its Codable form. Infinite numbers and "not a number",
  /// which JSON lacks, are included.
  public var dictionary: [String: DictionaryValue] {
    get throws {
      try ModelForm.decoder.decode(
        [String: DictionaryValue].self, from: try ModelForm.encoder.encode(self))
    }
  }
}

/// The Codable form of models: JSON with sorted keys. Numbers that JSON lacks are encoded as
/// reserved texts that no model contains.
enum ModelForm {
  private static let infinity = "~TreeRing: plus infinity~"
  private static let minusInfinity = "~TreeRing: minus infinity~"
  private static let notANumber = "~TreeRing: not a number~"

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: infinity, negativeInfinity: minusInfinity, nan: notANumber)
    return encoder
  }

  static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: infinity, negativeInfinity: minusInfinity, nan: notANumber)
    return decoder
  }
}

/// A model that is a value. Its Codable form provides the update with properties. To become equal
/// to another model it is replaced, unless they are already equal: by `==` if it is `Equatable`,
/// else by their Codable forms. Two models are not equal if one of them cannot be encoded for the
/// comparison.
///
/// A class must conform to ``CollectionModel`` itself, so that the instance stays the same.
public protocol ValueModel: CollectionModel {}

extension ValueModel {
  /// Applies properties through the Codable form; if that fails, the value is unchanged.
  public mutating func update(with properties: [String: DictionaryValue]) throws -> Bool {
    let old = try dictionary
    var new = old
    for (name, value) in properties { new[name] = value == .null ? nil : value }
    if new == old { return false }
    self = try ModelForm.decoder.decode(Self.self, from: try ModelForm.encoder.encode(new))
    return true
  }
}

extension CollectionModel {
  /// Becomes equal to another model with the same identifier; properties that the other lacks are
  /// cleared.
  mutating func become(_ other: Self) throws -> Bool {
    if Self.self is any ValueModel.Type {
      if isEqual(to: other) { return false }
      self = other
      return true
    }
    var properties = try other.dictionary
    for name in try dictionary.keys where properties[name] == nil { properties[name] = .null }
    return try update(with: properties)
  }

  /// Whether another value is equal, by `==` if available, else by the Codable form. A value that
  /// cannot be encoded equals nothing, so it can always be replaced.
  private func isEqual(to other: Self) -> Bool {
    if let value = self as? any Equatable { return value.equals(other) }
    let encoder = ModelForm.encoder
    guard let form = try? encoder.encode(self) else { return false }
    return (try? encoder.encode(other)) == form
  }
}

extension Equatable {
  fileprivate func equals(_ other: Any) -> Bool { other as? Self == self }
}

/// Converts received data to models.
public protocol CollectionDataSource<Data, Model>: Sendable {
  /// The data of a child.
  associatedtype Data: Sendable
  /// The model of a child.
  associatedtype Model: CollectionModel
  /// Makes a model of data, and may wait for more data; nil leaves the child out. Calls for
  /// different children run concurrently. The task is cancelled when its result is no longer
  /// needed.
  func prepare(_ data: Data) async throws -> Model?
}

/// A data source that is a closure.
struct ClosureDataSource<Data: Sendable, Model: CollectionModel>: CollectionDataSource {
  let body: @Sendable (Data) async throws -> Model?
  func prepare(_ data: Data) async throws -> Model? { try await body(data) }
}
