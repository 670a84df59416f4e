// The keys of rows: paths in the tree. The order of their bytes is the document order of the tree:
// children in Firebase's order of keys. So a subtree is a range of rows, and so are its children
// from one key to another. The keys are UTF-8, because people read them in logs.
//
//   row    /a b c            a leaf; "/" alone is the root
//          /a b .priority    a node's priority; "/.priority" is the root's
//   name   a text, followed by a space unless it is the last one
//          ␠a1  ␠b12  ␠J4    the integers 1, 12, -5: a letter for the number of digits, the digits
//          ␠a1:00201         "01", an integer in another form: also its length and its text
//
// The space separates names because no character of a name precedes it. In a name, "!." stands for
// a space and "!/" for "!". A character from U+E000 to U+FFFF has U+10FFFF before it, because
// it follows all others in UTF-16; U+10FFFF itself is followed by "!".

internal import TreeRing
internal import TreeRingFirebase
internal import TreeRingLog

/// The rows of paths.
enum TreeKey {
  private static let space = UInt8(ascii: " ")
  private static let last: [UInt8] = [0xF4, 0x8F, 0xBF, 0xBF]
  static let priorityName = Array(".priority".utf8)

  /// The key of the leaf at a path, and the first one of its subtree.
  static func leaf(_ path: some Sequence<FirebaseKey>) -> [UInt8] {
    var bytes: [UInt8] = [UInt8(ascii: "/")]
    for (index, key) in path.enumerated() {
      if index > 0 { bytes.append(space) }
      append(key, to: &bytes)
    }
    return bytes
  }

  /// The beginning of the keys of everything below a path.
  static func children(_ path: [FirebaseKey]) -> [UInt8] {
    path.isEmpty ? leaf(path) : leaf(path) + [space]
  }

  /// The key of a node's priority.
  static func priority(_ path: [FirebaseKey]) -> [UInt8] { children(path) + priorityName }

  /// The end of a subtree: the bytes that follow all its rows.
  static func end(_ path: [FirebaseKey]) -> [UInt8] {
    path.isEmpty ? [UInt8(ascii: "0")] : leaf(path) + [UInt8(ascii: "!")]
  }

  static func append(_ key: FirebaseKey, to bytes: inout [UInt8]) {
    if let integer = key.integer {
      appendInteger(Int64(integer), key.text, to: &bytes)
    } else {
      for scalar in key.text.unicodeScalars { append(scalar, to: &bytes) }
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar.value {
    case 0x20: bytes += "!.".utf8
    case 0x21: bytes += "!/".utf8
    case 0x10FFFF: bytes += last + [UInt8(ascii: "!")]
    case 0xE000...0xFFFF: bytes += last + encoded(scalar)
    default: bytes += encoded(scalar)
    }
  }

  private static func encoded(_ scalar: Unicode.Scalar) -> [UInt8] {
    Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
  }

  private static func appendInteger(_ number: Int64, _ text: String, to bytes: inout [UInt8]) {
    let digits = Array(String(number.magnitude).utf8)
    let count = UInt8(digits.count)
    bytes.append(space)
    if number < 0 {
      bytes.append(UInt8(ascii: "K") - count)
      for digit in digits { bytes.append(UInt8(ascii: "9") - digit + UInt8(ascii: "0")) }
    } else {
      bytes.append(UInt8(ascii: "a") - 1 + count)
      bytes += digits
    }
    if String(number).utf8.elementsEqual(text.utf8) { return }
    let length = String(text.utf8.count)
    bytes.append(UInt8(ascii: ":"))
    bytes += String(repeating: "0", count: max(0, 3 - length.utf8.count)).utf8
    bytes += length.utf8
    bytes += text.utf8
  }

  /// The path of a row's key below a path whose `children` bytes the key begins with.
  ///
  /// - Parameter start: The number of those bytes.
  /// - Throws: `corruption` if the key is none of a tree.
  static func path(
    of key: [UInt8], from start: Int
  ) throws(TreeRingError) -> FirebasePath {
    var reader = TreeKeyReader(key: key, position: start)
    guard let path = reader.path() else {
      throw TreeRingError(
        .corruption,
        "The row \(Key(bytes: key)) is no part of a tree. Another program has written it; delete "
          + "it.")
    }
    return path
  }
}

/// Reads names from a row's key.
struct TreeKeyReader {
  let key: [UInt8]
  var position: Int

  /// The rest of the key as a path; nil if it is none.
  mutating func path() -> FirebasePath? {
    var keys: [FirebaseKey] = []
    while position < key.count {
      if key[position...].elementsEqual(TreeKey.priorityName) {
        return FirebasePath(keys: keys, part: .priority)
      }
      guard let next = name() else { return nil }
      keys.append(next)
    }
    return FirebasePath(keys: keys)
  }

  /// The next name, with the space after it.
  mutating func name() -> FirebaseKey? {
    guard position < key.count else { return nil }
    let name: [UInt8]?
    if key[position] == UInt8(ascii: " ") {
      position += 1
      name = integer()
    } else {
      name = text()
    }
    if position < key.count {
      guard key[position] == UInt8(ascii: " "), position + 1 < key.count else { return nil }
      position += 1
    }
    guard let name, let text = String(validating: name, as: UTF8.self) else { return nil }
    return try? FirebaseKey(text)
  }

  private mutating func text() -> [UInt8]? {
    var output: [UInt8] = []
    let last: [UInt8] = [0xF4, 0x8F, 0xBF, 0xBF]
    while position < key.count, key[position] != UInt8(ascii: " ") {
      if key[position] == UInt8(ascii: "!") {
        guard position + 1 < key.count else { return nil }
        switch key[position + 1] {
        case UInt8(ascii: "."): output.append(UInt8(ascii: " "))
        case UInt8(ascii: "/"): output.append(UInt8(ascii: "!"))
        default: return nil
        }
        position += 2
      } else if key[position...].starts(with: last) {
        position += last.count
        if position < key.count, key[position] == UInt8(ascii: "!") {
          position += 1
          output += last
        }
      } else {
        output.append(key[position])
        position += 1
      }
    }
    return output
  }

  private mutating func integer() -> [UInt8]? {
    guard position < key.count else { return nil }
    let letter = key[position]
    position += 1
    let isNegative = letter < UInt8(ascii: "a")
    let count =
      isNegative
      ? Int(UInt8(ascii: "K")) - Int(letter) : Int(letter) - Int(UInt8(ascii: "a")) + 1
    guard (1...10).contains(count), position + count <= key.count else { return nil }
    var digits = Array(key[position..<position + count])
    position += count
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    if isNegative { digits = [UInt8(ascii: "-")] + digits.map { 0x69 - $0 } }
    guard position < key.count, key[position] == UInt8(ascii: ":") else { return digits }
    let start = position + 4
    guard start <= key.count,
      let length = Int(String(decoding: key[position + 1..<start], as: UTF8.self)), length >= 0,
      start + length <= key.count
    else { return nil }
    position = start + length
    return Array(key[start..<position])
  }
}
