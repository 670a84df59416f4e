// JSON for people: each member on a line of its own.

/// Writes JSON with indents of two spaces.
enum IndentedJSON {
  /// The indented form of JSON without space.
  static func text(_ json: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    var depth = 0
    var index = 0
    func line() { output += [0x0A] + Array(repeating: 0x20, count: 2 * depth) }
    while index < json.count {
      let byte = json[index]
      switch byte {
      case UInt8(ascii: "\""):
        let start = index
        index += 1
        while index < json.count, json[index] != UInt8(ascii: "\"") {
          index += json[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        output += json[start...min(index, json.count - 1)]
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        output.append(byte)
        depth += 1
        line()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        line()
        output.append(byte)
      case UInt8(ascii: ","):
        output.append(byte)
        line()
      case UInt8(ascii: ":"): output += " : ".utf8
      default: output.append(byte)
      }
      index += 1
    }
    return output
  }
}
