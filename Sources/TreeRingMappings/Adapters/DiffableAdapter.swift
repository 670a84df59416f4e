// Applies changes to diffable data sources of UIKit and AppKit. SectionedSnapshot makes all
// decisions.

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
    /// Edits the snapshot so that it shows the state after a change. A snapshot that does not show
    /// the state before is filled from scratch.
    ///
    /// - Throws: `TreeRingError` if the index cannot be read; the snapshot is then unchanged.
    public mutating func apply(_ change: Change) throws(TreeRingError) { try show(change) }

    #if !canImport(UIKit)
      /// Reloads items, because AppKit cannot reconfigure them.
      mutating func reconfigureItems(_ items: [ItemIdentifierType]) { reloadItems(items) }
    #endif
  }
#endif
