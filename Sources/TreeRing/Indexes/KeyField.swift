// A field that holds keys: found in an object, and removed from it without a change of the rest.

internal import TreeRingLog

/// A field of JSON objects and binary rows that holds one key, or an array of keys.
struct KeyField: Sendable {
  let path: JSONPath

  init(_ path: JSONPath) { self.path = path }

  /// The texts of the keys in the field of an object, in their order. None if the object is neither
  /// JSON nor a binary row. O(bytes).
  func keys(in object: UnsafeRawBufferPointer) -> [[UInt8]] {
    withValue(in: object) { Self.keys(ofValue: $0) } ?? []
  }

  /// Calls `body` with the value of the field as JSON; returns nil if the object has none, or is
  /// neither JSON nor a binary row. O(bytes).
  func withValue<R>(
    in object: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> R
  ) -> R? {
    if CBOR.isMarked(object) {
      let reader = CBORReader(object)
      var json: [UInt8] = []
      guard let item = reader.item(at: path), reader.appendJSON(at: item.lowerBound, to: &json) >= 0
      else { return nil }
      return json.withUnsafeBytes { body($0) }
    }
    guard let range = (try? JSONScanner.find(path, in: object)) ?? nil else { return nil }
    return body(UnsafeRawBufferPointer(rebasing: object[range]))
  }

  /// The object without a key in the field: a single key becomes null, an array loses it. Nil if
  /// the field does not hold it.
  func removing(_ key: [UInt8], from object: UnsafeRawBufferPointer) -> [UInt8]? {
    let range: Range<Int>
    let value: [UInt8]
    if CBOR.isMarked(object) {
      let reader = CBORReader(object)
      guard let item = reader.item(at: path), let rest = reader.removing(key, from: item)
      else { return nil }
      (range, value) = (item, rest)
    } else {
      guard let found = (try? JSONScanner.find(path, in: object)) ?? nil,
        let rest = Self.removing(key, from: UnsafeRawBufferPointer(rebasing: object[found]))
      else { return nil }
      (range, value) = (found, rest)
    }
    return object[..<range.lowerBound] + value + object[range.upperBound...]
  }

  /// The text of a value that is a key; nil for null, an array or an object.
  static func key(ofValue json: UnsafeRawBufferPointer) -> [UInt8]? {
    if json.first == UInt8(ascii: "n") { return nil }
    var text: [UInt8] = []
    return JSONScanner.appendText(ofScalar: json, to: &text) ? text : nil
  }

  private static func keys(ofValue json: UnsafeRawBufferPointer) -> [[UInt8]] {
    elements(of: json).compactMap { key(ofValue: $0) }
  }

  /// The elements of a JSON array, or the value itself if it is none.
  private static func elements(of json: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer] {
    guard json.first == UInt8(ascii: "[") else { return [json] }
    var scanner = JSONScanner(json)
    var elements: [UnsafeRawBufferPointer] = []
    // The object has been validated.
    guard (try? scanner.enterArray()) != nil else { return [] }
    while let element = (try? scanner.nextElement()) ?? nil {
      elements.append(scanner.slice(element))
    }
    return elements
  }

  private static func removing(_ key: [UInt8], from json: UnsafeRawBufferPointer) -> [UInt8]? {
    let all = elements(of: json)
    let kept = all.filter { self.key(ofValue: $0) != key }
    if kept.count == all.count { return nil }
    guard json.first == UInt8(ascii: "[") else { return Array("null".utf8) }
    return [UInt8(ascii: "[")] + kept.joined(separator: [UInt8(ascii: ",")])
      + [UInt8(ascii: "]")]
  }
}

extension CBORReader {
  /// The range of the item at a path of a binary row; nil if there is none. O(bytes).
  func item(at path: JSONPath) -> Range<Int>? {
    var offset = CBOR.mark.count
    guard skip(offset) == bytes.count else { return nil }
    for name in path.names {
      guard let map = head(at: offset), map.kind == CBOR.Kind.map,
        let found = member(name, of: map)
      else { return nil }
      offset = found
    }
    return offset..<skip(offset)
  }

  /// The offset of the value of a field in a map.
  private func member(_ name: [UInt8], of map: CBORHead) -> Int? {
    var at = map.end
    for _ in 0..<(itemCount(of: map) ?? 0) {
      guard let key = head(at: at), key.kind == CBOR.Kind.text, let text = contents(of: key) else {
        return nil
      }
      if bytes[text].elementsEqual(name) { return text.upperBound }
      at = skip(text.upperBound)
    }
    return nil
  }

  /// The bytes of an item without a key: null for the key itself, an array without it. Nil if the
  /// item does not hold it.
  func removing(_ key: [UInt8], from item: Range<Int>) -> [UInt8]? {
    guard let head = head(at: item.lowerBound) else { return nil }
    guard head.kind == CBOR.Kind.array, let count = itemCount(of: head) else {
      return isKey(key, at: item.lowerBound) ? [CBOR.Byte.null] : nil
    }
    var (at, kept, keptCount) = (head.end, [UInt8](), 0)
    for _ in 0..<count {
      let end = skip(at)
      if !isKey(key, at: at) {
        kept += bytes[at..<end]
        keptCount += 1
      }
      at = end
    }
    if keptCount == count { return nil }
    var writer = CBORWriter()
    writer.head(CBOR.Kind.array, UInt64(keptCount))
    return Array(writer.contents) + kept
  }

  private func isKey(_ key: [UInt8], at offset: Int) -> Bool {
    var json: [UInt8] = []
    guard appendJSON(at: offset, to: &json) >= 0 else { return false }
    return json.withUnsafeBytes { KeyField.key(ofValue: $0) } == key
  }
}
