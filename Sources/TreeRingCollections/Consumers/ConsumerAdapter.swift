// Between consumers and views: shifts every callback by the view's own content, and decides how the view is
// to show an update. The list knows nothing of either.

public import TreeRingMappings

/// How a view shows a row's new value.
public enum RowRefresh: Hashable, Sendable {
  /// The row keeps its cell, which is set anew.
  case reconfigure
  /// The row gets a new cell.
  case reload
}

/// A view that shows what consumers hold, among rows and sections of its own. All paths are the view's.
/// Within a batch, removals and refreshes come with places before it, insertions with places after it.
public protocol ConsumerView<Model>: AnyObject {
  /// What rows are.
  associatedtype Model
  /// A batch begins; the list is still the old one.
  func viewWillChange()
  /// A row has a new value, to be shown by this way of refreshing it.
  func view(refresh model: Model, at path: RowPath, by refresh: RowRefresh)
  /// A section has another title.
  func view(reloadSection section: Int)
  /// A section goes, with its rows.
  func view(removeSection section: Int)
  /// A section comes, with its rows.
  func view(insertSection section: Int)
  /// A row goes.
  func view(removeRowAt path: RowPath)
  /// A row comes.
  func view(insertRowAt path: RowPath)
  /// The batch is over.
  func viewDidChange()
  /// Runs a batch, at once or at a time of its own.
  func view(perform batch: @escaping () -> Void)
}

extension ConsumerView {
  public func viewWillChange() {}
  public func viewDidChange() {}
  public func view(perform batch: @escaping () -> Void) { batch() }
}

/// A delegate of plain and sectioned consumers that drives a view.
///
///     let adapter = ConsumerAdapter(view: table, offsets: PathOffsets(rowsBefore: 1))
///     consumer.delegate = adapter
public final class ConsumerAdapter<Model>: PlainConsumerDelegate, SectionedConsumerDelegate {
  /// The view's own content.
  public var offsets: PathOffsets
  /// How updates are shown; nil from it if the view has drawn that one itself. Every update reloads its
  /// row by default.
  public var refresh: (Model) -> RowRefresh? = { _ in .reload }
  private weak var view: (any ConsumerView<Model>)?

  /// Drives a view, which it does not keep alive.
  public init(view: any ConsumerView<Model>, offsets: PathOffsets = PathOffsets()) {
    self.view = view
    self.offsets = offsets
  }

  private func path(_ index: Int) -> RowPath { RowPath(section: 0, row: index) }

  public func consumerWillChange() { view?.viewWillChange() }
  public func consumerDidUpdate(_ model: Model, at index: Int) {
    consumerDidUpdate(model, at: path(index))
  }
  public func consumerDidRemove(at index: Int) { consumerDidRemove(at: path(index)) }
  public func consumerDidInsert(_ model: Model, at index: Int) {
    consumerDidInsert(model, at: path(index))
  }
  public func consumerDidUpdate(_ model: Model, at path: RowPath) {
    guard let refresh = refresh(model) else { return }
    view?.view(refresh: model, at: offsets.global(path), by: refresh)
  }
  public func consumerDidReload(section: Int) {
    view?.view(reloadSection: offsets.global(section: section))
  }
  public func consumerDidRemove(section: Int) {
    view?.view(removeSection: offsets.global(section: section))
  }
  public func consumerDidInsert(section: Int) {
    view?.view(insertSection: offsets.global(section: section))
  }
  public func consumerDidRemove(at path: RowPath) {
    view?.view(removeRowAt: offsets.global(path))
  }
  public func consumerDidInsert(_ model: Model, at path: RowPath) {
    view?.view(insertRowAt: offsets.global(path))
  }
  public func consumerDidChange() { view?.viewDidChange() }
  public func consumer(perform batch: @escaping () -> Void) {
    guard let view else { return batch() }
    view.view(perform: batch)
  }
}
