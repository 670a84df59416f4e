// A group index definition, ready to say where a row belongs.

package import TreeRingLog

/// A row as a definition sees it. The bytes are valid during the call only.
package struct RowInput {
  package var bucket: UInt32
  package var key: UnsafeRawBufferPointer
  package var object: UnsafeRawBufferPointer
  package var metadata: UnsafeRawBufferPointer?
  /// The version of the coder that wrote the object.
  package var coder: UInt32
  package var created: Stamp
  package var written: Stamp
}

extension RowInput {
  /// What `.created` and `.modified` order by.
  var sortContext: SortKeyContext {
    SortKeyContext(created: created, modified: written)
  }
}

/// One place of a row: a group and where in its order.
package struct EncodedPlace: Hashable, Sendable {
  package var group: GroupName
  /// Order-preserving bytes, at most `Limits.sortKeyByteCount` of them.
  package var sortKey: [UInt8]

  package init(group: GroupName, sortKey: [UInt8]) {
    self.group = group
    self.sortKey = sortKey
  }
}

/// A definition with its number and the buckets it covers.
package struct ActiveIndex: Sendable {
  /// The number the definition has in this store.
  package let number: UInt32
  package let name: String
  package let evaluator: Evaluator
  /// Names of the buckets it covers; they need not exist yet.
  package let buckets: [String]

  /// How the places of a row are found.
  package enum Evaluator: Sendable {
    case fields(FieldIndex)
    case code(@Sendable (RowInput) throws -> [EncodedPlace])
  }

  /// The places of a row, in group order, one a group; nil if the definition cannot decode it.
  package func places(of row: RowInput) throws(TreeRingError) -> [EncodedPlace]? {
    switch evaluator {
    case .fields(let definition):
      guard let found = definition.evaluate(row.object) else { return [] }
      return [EncodedPlace(group: GroupName(bytes: found.group), sortKey: found.sortKey)]
    case .code(let closure):
      let places: [EncodedPlace]
      do {
        places = try closure(row)
      } catch let error as TreeRingError where error.code == .tooLarge {
        throw error
      } catch {
        return nil
      }
      if places.count < 2 { return places }
      var seen: Set<GroupName> = []
      return places.filter { seen.insert($0.group).inserted }.sorted { $0.group < $1.group }
    }
  }
}

extension IndexRecord {
  /// The definition ready for use; nil for a closure that is not among `code`.
  func active(code: [CodeIndex]) throws(TreeRingError) -> ActiveIndex? {
    switch definition {
    case .removed: return nil
    case .fields(let text):
      let fields = try FieldIndex(json: text)
      return ActiveIndex(
        number: number, name: name, evaluator: .fields(fields), buckets: [fields.bucket])
    case .code:
      guard let index = code.first(where: { $0.name == name && $0.version == version }) else {
        return nil
      }
      return ActiveIndex(
        number: number, name: name, evaluator: .code(index.places), buckets: index.buckets)
    }
  }
}

/// A definition by closure as a process registers it.
package struct CodeIndex: Sendable {
  package let name: String
  package let version: UInt32
  package let buckets: [String]
  package let places: @Sendable (RowInput) throws -> [EncodedPlace]
}
