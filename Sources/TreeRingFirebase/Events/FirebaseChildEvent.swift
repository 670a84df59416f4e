// The events of children, as Firebase's SDKs give them.

/// An event of a child: `childAdded`, `childChanged`, `childMoved` or `childRemoved`.
///
/// Events follow each other so that a list stays right if they are applied one after the other: a
/// child added or moved is put right after its previous sibling.
public enum FirebaseChildEvent: Hashable, Sendable {
  /// A child is new. `previous` is the key of the sibling before it; nil for the first child.
  case added(FirebaseChild, previous: FirebaseKey?)
  /// A child's data or priority changed.
  case changed(FirebaseChild)
  /// A child's value in the order changed; `changed` follows. `previous` is the key of the sibling
  /// before it; nil for the first child.
  case moved(FirebaseChild, previous: FirebaseKey?)
  /// A child was removed, or left the queried part. It has its last data.
  case removed(FirebaseChild)
}
