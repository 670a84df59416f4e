// A group of a type that names no group: the enumeration lacks `KeyConvertible`.

import TreeRing

enum Binding: String, Codable { case cloth, paper }
struct Copy: Codable, Sendable { var binding: Binding }
let copies = Bucket<Copy>("copies")

let byBinding = Index("ByBinding", on: copies, version: 1, group: \.binding)
