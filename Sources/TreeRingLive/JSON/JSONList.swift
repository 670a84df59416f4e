// A list of objects, as a member of an object.

/// A JSON array of objects under construction.
package struct JSONList {
  fileprivate var output: [UInt8]
  /// The number of objects.
  package private(set) var count = 0

  /// The bytes of the whole document so far.
  package var byteCount: Int { output.count }

  fileprivate init(output: [UInt8]) { self.output = output }

  /// Appends an object.
  package mutating func object(_ build: (inout JSONObject) throws -> Void) rethrows {
    if count > 0 { output.append(UInt8(ascii: ",")) }
    count += 1
    var object = JSONObject(output: output)
    output = []
    try build(&object)
    output = object.finish()
  }
}

extension JSONObject {
  /// Adds an array of objects. After an error of `build` the object is unusable.
  package mutating func list(
    _ name: String, _ build: (inout JSONList) throws -> Void
  ) rethrows {
    raw(name, "[")
    var list = JSONList(output: takeOutput())
    try build(&list)
    giveOutput(list.output)
    append("]")
  }
}
