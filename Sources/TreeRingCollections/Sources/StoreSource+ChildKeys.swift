// Child keys of a store's rows. Child keys are text. Rows whose keys differ in one byte must stay
// distinct, but Swift's texts are equal if they only look the same.

public import TreeRing

extension StoreSource {
  /// The child key of a row's key; observers receive it as the row's identity. It is the key itself
  /// if that is printable ASCII without a percent sign. Every other byte is percent-encoded as in a
  /// URL (RFC 3986, section 2.1). O(key bytes).
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

  /// The row's key that a child key encodes; nil if it encodes none. O(key bytes).
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
