// Rows of fields, for engines with types or columns.

/// A row of a list that a field orders.
public struct PlacedRow: Hashable, Sendable {
  public let id: Int
  /// The field that orders the list; no two rows of a benchmark have the same.
  public var place: Int64
  public var version = 0

  public init(id: Int, place: Int64) {
    self.id = id
    self.place = place
  }
}

/// A row of plain fields.
public struct Shipment: Codable, Sendable {
  public let customer: Int
  public let state: String
  public let origin: String
  public let destination: String
  public let weight: Int
  public let price: Double
  public let isSigned: Bool

  /// The row of a number.
  public init(_ number: Int) {
    let places = ["Halifax", "Port of Spain", "Lisbon", "Ulaanbaatar", "Cusco", "Antananarivo"]
    let states = ["scheduled", "delayed", "boarding", "departed", "landed"]
    var random = Random(seed: UInt64(number))
    func below(_ bound: UInt64) -> Int { Int(random.next() % bound) }
    customer = below(100_000)
    state = states[below(5)]
    origin = places[below(6)]
    destination = places[below(6)]
    weight = below(90_000)
    price = Double(below(1_000_000)) / 100
    isSigned = below(2) == 0
  }
}
