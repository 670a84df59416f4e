// The order of children, and its form as bytes. Compared byte by byte, the bytes of two children
// order them as Firebase does: by the value of the order, then by key.
//
//   null 00, false 01, true 02
//   number 03 and eight bytes: the sign bit inverted, or all bits of a negative number
//   text 04, then UTF-16 units, the high byte first; a unit 0000 is 0000 0001; 0000 0000 at the end
//   object 05
//
// The key follows: 01 and four bytes of the integer, two of the length, the text; or 02 and UTF-16
// units. A position of a source holds these bytes, so a cursor outlives its child.

internal import TreeRing
internal import TreeRingCollections

/// The value by which children are ordered. Children of equal value are ordered by key.
public enum FirebaseOrder: Hashable, Sendable {
  /// By key alone: `$key`. Needs no index in the rules.
  case key
  /// By the child's own value: `$value`. The rules need the index `.value`.
  case value
  /// By priority: `$priority`. Data is then read in the export format, which includes priorities.
  case priority
  /// By a value below the child, such as "height" or "name/first". The rules need an index of that
  /// path.
  case child(String)
}

/// The value of an order: a scalar, or an object, which follows every scalar.
package enum OrderKey: Hashable {
  case scalar(FirebaseScalar)
  case object

  package init(_ node: FirebaseNode) {
    switch node.value {
    case .scalar(let scalar): self = .scalar(scalar)
    case .children: self = .object
    }
  }
}

/// A bound in an order: a value, and possibly the key of a child of that value.
package struct OrderEdge: Hashable {
  package let value: OrderKey
  package let key: FirebaseKey?

  package init(value: OrderKey, key: FirebaseKey?) {
    self.value = value
    self.key = key
  }
}

extension FirebaseOrder {
  /// The order's value of a child. The order by key has the value null for all.
  package func value(of child: FirebaseChild) -> OrderKey {
    switch self {
    case .key: .scalar(.null)
    case .value: OrderKey(child.node)
    case .priority: .scalar(child.node.priority)
    case .child(let path): OrderKey(child.node[path])
    }
  }
}

extension OrderEdge {
  /// The bytes of the value, and of the key if there is one.
  package var bytes: [UInt8] {
    var output: [UInt8] = []
    value.append(to: &output)
    key?.appendOrder(to: &output)
    return output
  }

  /// The edge of bytes made above; nil if they are others.
  init?(bytes: [UInt8]) {
    var rest = bytes[...]
    guard let value = OrderKey(&rest) else { return nil }
    self.value = value
    if rest.isEmpty {
      key = nil
    } else {
      guard let key = FirebaseKey(orderBytes: rest) else { return nil }
      self.key = key
    }
  }
}

extension OrderKey {
  fileprivate func append(to output: inout [UInt8]) {
    switch self {
    case .scalar(.null): output.append(0)
    case .scalar(.bool(let value)): output.append(value ? 2 : 1)
    case .scalar(.number(let number)):
      output.append(3)
      // Plus and minus zero are equal.
      let bits = (number == 0 ? 0 : number).bitPattern
      output.appendBigEndian(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    case .scalar(.text(let text)):
      output.append(4)
      for unit in text.utf16 {
        output.appendBigEndian(unit)
        if unit == 0 { output.appendBigEndian(UInt16(1)) }
      }
      output.appendBigEndian(UInt32(0))
    case .object: output.append(5)
    }
  }

  fileprivate init?(_ rest: inout ArraySlice<UInt8>) {
    switch rest.popFirst() {
    case 0: self = .scalar(.null)
    case 1: self = .scalar(.bool(false))
    case 2: self = .scalar(.bool(true))
    case 3:
      guard let bits = rest.popBigEndian(UInt64.self) else { return nil }
      let number = Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
      self = .scalar(.number(number))
    case 4:
      var units: [UInt16] = []
      while let unit = rest.popBigEndian(UInt16.self) {
        if unit == 0 {
          guard let mark = rest.popBigEndian(UInt16.self) else { return nil }
          if mark == 0 {
            self = .scalar(.text(String(decoding: units, as: UTF16.self)))
            return
          }
        }
        units.append(unit)
      }
      return nil
    case 5: self = .object
    default: return nil
    }
  }
}

extension FirebaseKey {
  fileprivate func appendOrder(to output: inout [UInt8]) {
    if let integer {
      output.append(1)
      output.appendBigEndian(UInt32(bitPattern: integer) ^ 1 << 31)
      output.appendBigEndian(UInt16(text.utf8.count))
      output += text.utf8
    } else {
      output.append(2)
      for unit in text.utf16 { output.appendBigEndian(unit) }
    }
  }

  fileprivate init?(orderBytes: ArraySlice<UInt8>) {
    var rest = orderBytes
    var text: String
    switch rest.popFirst() {
    case 1: text = String(decoding: rest.dropFirst(6), as: UTF8.self)
    case 2:
      var units: [UInt16] = []
      while let unit = rest.popBigEndian(UInt16.self) { units.append(unit) }
      text = String(decoding: units, as: UTF16.self)
    default: return nil
    }
    text.makeContiguousUTF8()
    guard let key = try? FirebaseKey(text) else { return nil }
    self = key
  }
}

extension [UInt8] {
  fileprivate mutating func appendBigEndian<Number: FixedWidthInteger>(_ number: Number) {
    for index in (0..<Number.bitWidth / 8).reversed() {
      append(UInt8(truncatingIfNeeded: number >> Number(index * 8)))
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func popBigEndian<Number: FixedWidthInteger>(_ type: Number.Type) -> Number?
  {
    let count = Number.bitWidth / 8
    guard self.count >= count else { return nil }
    let number = prefix(count).reduce(Number(0)) { $0 << 8 | Number($1) }
    removeFirst(count)
    return number
  }
}
