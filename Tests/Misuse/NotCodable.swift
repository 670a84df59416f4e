// A bucket of rows that are not `Codable`.

import TreeRing

struct Plain: Sendable { var number: Int }

let plain = Bucket<Plain>("plain")
