// Diffable data sources of UIKit and AppKit. What is decided is decided in SectionedSnapshot.

#if (canImport(UIKit) && !os(watchOS)) || (canImport(AppKit) && !targetEnvironment(macCatalyst))
  #if canImport(UIKit)
    public import UIKit
  #else
    public import AppKit
  #endif
  public import TreeRing
  public import TreeRingLog

  extension NSDiffableDataSourceSnapshot: SectionedSnapshot
  where SectionIdentifierType == GroupName, ItemIdentifierType == Placements.Member {
    /// Edits the snapshot so that it shows what a change leads to. A snapshot that shows anything else
    /// than the state before is filled anew.
    ///
    /// - Throws: `TreeRingError` if the index cannot be read; the snapshot is then as it was.
    public mutating func apply(_ change: Change) throws(TreeRingError) { try show(change) }

    #if !canImport(UIKit)
      /// AppKit has no reconfiguring: items are reloaded.
      package mutating func reconfigureItems(_ items: [ItemIdentifierType]) { reloadItems(items) }
    #endif
  }
#endif
