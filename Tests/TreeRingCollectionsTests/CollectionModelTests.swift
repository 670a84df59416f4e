// Models: classes keep their identity, values their meaning; the dictionary form.

import Foundation
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

/// A model class.
private final class Passenger: CollectionModel {
  let identifier: String
  private let state: Mutex<String>
  var name: String { state.withLock(\.self) }

  init(_ identifier: String, name: String) {
    self.identifier = identifier
    state = Mutex(name)
  }

  private enum Keys: String, CodingKey { case identifier, name }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    identifier = try container.decode(String.self, forKey: .identifier)
    state = Mutex(try container.decode(String.self, forKey: .name))
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(identifier, forKey: .identifier)
    try container.encode(name, forKey: .name)
  }
  func update(with properties: [String: DictionaryValue]) throws -> Bool {
    guard case .text(let new)? = properties["name"] else { return false }
    return state.withLock { name in
      defer { name = new }
      return name != new
    }
  }
}

private struct Boarding: CollectionDataSource {
  func prepare(_ name: String) async throws -> Passenger? {
    Passenger(String(name.prefix(1)), name: name)
  }
}

@Suite struct CollectionModelTests {
  @Test func anInstanceStaysTheSameThroughAllUpdates() async {
    let source = MemorySource<String>()
    for name in ["1 Cesar", "2 Berta", "3 Anna"] {
      source.set(name, at: ChildPosition(order: .null, key: String(name.prefix(1))))
    }
    let collection = LiveCollection(
      source: source, dataSource: Boarding(),
      options: CollectionOptions(
        order: .by { $0.name.dropFirst(2) < $1.name.dropFirst(2) }, mode: .whole,
        prepareTimeout: nil))
    await collection.load()
    #expect(collection.shown.map(\.identifier) == ["3", "2", "1"])
    let cesar = collection.model("1")
    var changes = collection.changes.makeAsyncIterator()
    _ = await changes.next()
    source.set("1 Adam", at: ChildPosition(order: .null, key: "1"))
    let change = await changes.next()
    #expect(collection.model("1") === cesar)
    #expect(cesar?.name == "1 Adam")
    #expect(collection.shown.map(\.identifier) == ["1", "3", "2"])
    #expect(change?.changes.moves == [IndexMove(from: 2, to: 0)])
    #expect(change?.updated.first === cesar)
    collection.set(Passenger("1", name: "1 Zeno"))
    #expect(collection.model("1") === cesar)
    collection.update("1", with: ["name": .text("1 Bela")])
    #expect(collection.model("1") === cesar)
    #expect(collection.shown.map(\.name) == ["3 Anna", "1 Bela", "2 Berta"])
    // The filter gets the instance's current values.
    collection.setFilter { $0.name.contains("B") }
    #expect(collection.shown.map(\.identifier) == ["1", "2"])
    collection.update("1", with: ["name": .text("1 Hans")])
    #expect(collection.shown.map(\.identifier) == ["2"])
    #expect(collection.model("1") === cesar)
  }

  @Test func anUpdateReturnsWhetherTheModelChanged() throws {
    var note = NoteModel(identifier: "1", text: "a", number: 1)
    #expect(try !note.update(with: ["text": .text("a"), "number": .number(1)]))
    #expect(try !note.update(with: [:]))
    #expect(try note.update(with: ["number": .number(2)]))
    #expect(try note.update(with: ["text": .null]))
    #expect(try !note.update(with: ["text": .null]))
    #expect(note == NoteModel(identifier: "1", text: nil, number: 2))
    #expect(throws: (any Error).self) { try note.update(with: ["number": .text("no number")]) }
    #expect(note.number == 2)
  }

  @Test func aModelSurvivesTheWayThroughItsDictionary() throws {
    struct Deep: ValueModel, Equatable {
      var identifier = "1"
      var flags = [true, false]
      var names = ["a": "b"]
      var missing: Int?
      var number = 1.5
    }
    let form = try Deep().dictionary
    #expect(
      form == [
        "identifier": .text("1"), "flags": .list([.bool(true), .bool(false)]),
        "names": .dictionary(["a": .text("b")]), "number": .number(1.5),
      ])
    let bytes = try JSONEncoder().encode(
      form.merging(["missing": .null]) { first, _ in first })
    #expect(try JSONDecoder().decode(Deep.self, from: bytes) == Deep())
    #expect(
      try JSONDecoder().decode([String: DictionaryValue].self, from: bytes)["missing"] == .null)
  }

  @Test func numbersThatNoDoubleHoldsSurviveUpdates() throws {
    struct Account: ValueModel, Equatable {
      var identifier = "1"
      var text = ""
      var signed: Int64
      var unsigned: UInt64
      var real: Double
    }
    let bits: [(Int64, UInt64, Double)] = [
      (.max, .max, 1e300), (.min, .max - 1, -1e20), ((1 << 53) + 1, (1 << 63) + 1, 0x1p53),
      (-(1 << 53) - 1, 1 << 63, 0.1), (1 << 53, 1 << 60, 3e18),
    ]
    for (signed, unsigned, real) in bits {
      var account = Account(signed: signed, unsigned: unsigned, real: real)
      #expect(try account.update(with: ["text": .text("b")]))
      #expect(account == Account(text: "b", signed: signed, unsigned: unsigned, real: real))
      #expect(try !account.update(with: account.dictionary))
    }
  }

  @Test func aModelWithInfinityOrNaNCanChange() throws {
    struct Plain: ValueModel {
      var identifier = "1"
      var text = ""
      var value: Double
    }
    struct Compared: ValueModel, Equatable {
      var identifier = "1"
      var text = ""
      var value: Double
    }
    let odd: [Double] = [.infinity, -.infinity, .nan]
    for value in odd {
      var plain = Plain(value: value)
      #expect(try !plain.become(Plain(value: value)))
      #expect(try plain.become(Plain(text: "a", value: value)))
      #expect(try plain.become(Plain(value: 1)) && plain.value == 1)
      #expect(try plain.become(Plain(value: value)))
      #expect(try plain.update(with: ["text": .text("b")]))
      #expect(plain.text == "b" && plain.value.isNaN == value.isNaN)
      #expect(plain.value.isNaN || plain.value == value)
      #expect(try plain.update(with: ["value": .number(2)]) && plain.value == 2)
      #expect(try plain.update(with: ["value": .number(value)]) && !plain.value.isFinite)
      guard case .number(let form)? = try plain.dictionary["value"] else {
        Issue.record("no number")
        continue
      }
      #expect(form.isNaN ? value.isNaN : form == value)
      var compared = Compared(value: value)
      #expect(try compared.become(Compared(value: value)) == value.isNaN)
      #expect(try compared.become(Compared(value: 1)) && compared.value == 1)
      #expect(try !compared.become(Compared(value: 1)))
    }
    // A text that looks like a number remains a text.
    #expect(try Plain(text: "inf", value: 0).dictionary["text"] == .text("inf"))
  }

  @Test func aModelThatCannotBeEncodedCanBeReplacedAndItsUpdateFails() throws {
    struct Sealed: ValueModel {
      var identifier = "1"
      var number: Int
      func encode(to encoder: any Encoder) throws {
        if number < 0 { throw CancellationError() }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(identifier, forKey: .identifier)
        try container.encode(number, forKey: .number)
      }
    }
    var sealed = Sealed(number: -1)
    #expect(throws: CancellationError.self) { try sealed.update(with: ["number": .number(1)]) }
    #expect(try sealed.become(Sealed(number: 2)) && sealed.number == 2)
    #expect(try sealed.become(Sealed(number: -3)) && sealed.number == -3)
    #expect(try sealed.become(Sealed(number: 4)) && !sealed.become(Sealed(number: 4)))
  }

  @Test func anUpdateThatChangesNothingOrFailsIsNoChange() {
    let observer = MirrorObserver()
    let collection = LiveCollection(
      source: MemorySource<NoteData>(), dataSource: ScriptedDataSource())
    collection.set(NoteModel(identifier: "1", text: nil, number: 1))
    collection.add(observer)
    collection.set(NoteModel(identifier: "1", text: nil, number: 1))
    collection.update("1", with: ["number": .number(1)])
    collection.update("nobody", with: ["number": .number(1)])
    collection.remove("nobody")
    #expect(observer.state.withLock(\.events).isEmpty)
    collection.update("1", with: ["number": .text("no number")])
    let failures = observer.state.withLock(\.failures)
    #expect(failures.map(\.key) == ["1"])
    #expect(failures.first?.error is DecodingError)
    #expect(observer.state.withLock(\.events).isEmpty)
    #expect(collection.model("1")?.number == 1)
  }

  @Test func modelsAreOrderedByIdentifierByDefault() {
    let collection = LiveCollection(
      source: MemorySource<NoteData>(), dataSource: ScriptedDataSource())
    for key in ["b", "a", "ä", "Z"] {
      collection.set(NoteModel(identifier: key, text: nil, number: 0))
    }
    #expect(collection.shown.map(\.identifier) == ["Z", "a", "b", "ä"])
  }
}
