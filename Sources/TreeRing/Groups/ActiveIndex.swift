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
    /// Those of another index, for rows that fit.
    indirect case filtered(ActiveIndex, @Sendable (RowInput) throws -> Bool)
  }

  /// Whether a row's metadata may decide on its places.
  var readsMetadata: Bool {
    switch evaluator {
    case .fields: false
    case .code, .filtered: true
    }
  }

  /// The places of a row, in group order, one a group; nil if the definition cannot decode it.
  package func places(of row: RowInput) throws(TreeRingError) -> [EncodedPlace]? {
    switch evaluator {
    case .fields(let definition):
      guard let found = definition.evaluate(row.object) else { return [] }
      return [EncodedPlace(group: GroupName(bytes: found.group), sortKey: found.sortKey)]
    case .filtered(let parent, let fits):
      do {
        guard try fits(row) else { return [] }
      } catch {
        return nil
      }
      return try parent.places(of: row)
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
      guard let index = registered(in: code), case .places(let places) = index.closure else {
        return nil
      }
      return ActiveIndex(
        number: number, name: name, evaluator: .code(places), buckets: index.buckets)
    case .filtered(let parent, _):
      guard let index = registered(in: code), case .filter(_, let fits) = index.closure,
        let parent = try parent.active(code: code)
      else { return nil }
      return ActiveIndex(
        number: number, name: name, evaluator: .filtered(parent, fits), buckets: index.buckets)
    }
  }

  private func registered(in code: [CodeIndex]) -> CodeIndex? {
    code.first { $0.name == name && $0.version == version }
  }

  /// The buckets whose rows it may hold.
  var buckets: [String] {
    switch definition {
    case .removed: []
    case .fields(let text): (try? FieldIndex(json: text)).map { [$0.bucket] } ?? []
    case .code(let buckets), .filtered(_, let buckets): buckets
    }
  }

  /// The index that this one filters; nil if it filters none.
  var parent: IndexRecord? {
    if case .filtered(let parent, _) = definition { return parent }
    return nil
  }
}

/// A definition by closure as a process registers it.
package struct CodeIndex: Sendable {
  package let name: String
  package let version: UInt32
  package let buckets: [String]
  package let closure: Closure

  /// What the definition's author wrote.
  package enum Closure: Sendable {
    /// The places of a row.
    case places(@Sendable (RowInput) throws -> [EncodedPlace])
    /// Which rows of the index of this name stay.
    case filter(of: String, @Sendable (RowInput) throws -> Bool)
  }

  /// Whether this is the definition of a catalog's index of that name.
  func isInForce(in catalog: Catalog) -> Bool {
    guard let known = catalog.indexes[name] else { return false }
    guard case .filter(let parent, _) = closure else {
      return known.isSame(version, .code(buckets: buckets))
    }
    return catalog.indexes[parent].map {
      known.isSame(version, .filtered($0, buckets: buckets))
    } ?? false
  }
}
