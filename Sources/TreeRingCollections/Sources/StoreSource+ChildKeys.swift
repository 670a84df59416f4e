// The keys of a store's rows as the keys of children, which are text: rows whose keys differ in a single byte
// must stay apart, and Swift's texts are equal when they only look the same.

public import TreeRing

extension StoreSource {
  /// What tells the row of a key apart as a child, and by which observers are told of it: the key itself, if
  /// that is printable ASCII without a percent sign; every other byte is percent-encoded as in a URL (RFC 3986,
  /// section 2.1). O(key bytes).
  public static func childKey(of key: Key) -> String {
    var childKey = ""
    childKey.reserveCapacity(key.bytes.count)
    for byte in key.bytes {
      if (0x20..<0x7f).contains(byte), byte != UInt8(ascii: "%") {
        childKey.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        childKey += byte < 16 ? "%0" : "%"
        childKey += String(byte, radix: 16, uppercase: true)
      }
    }
    return childKey
  }

  /// The key of the row that a child's key stands for; nil if it stands for none. O(key bytes).
  public static func key(ofChild childKey: String) -> Key? {
    var bytes: [UInt8] = []
    var rest = Array(childKey.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.count >= 2,
          let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        else { return nil }
        bytes.append(decoded)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    let key = Key(bytes: bytes)
    return self.childKey(of: key) == childKey ? key : nil
  }
}
