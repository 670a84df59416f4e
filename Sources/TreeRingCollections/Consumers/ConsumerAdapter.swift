// An adapter between consumers and views. It shifts every callback by the view's own content and
// chooses how the view shows an update. The list is independent of both.

public import TreeRingMappings

/// The way a view shows a row's new value.
public enum RowRefresh: Hashable, Sendable {
  /// Keeps the row's cell and configures it again.
  case reconfigure
  /// Gives the row a new cell.
  case reload
}

/// A view that shows a consumer's content among rows and sections of its own. All paths are the
/// view's. Within a batch, removals and refreshes have positions before it, insertions positions
/// after it.
public protocol ConsumerView<Model>: AnyObject {
  /// The type of the rows.
  associatedtype Model
  /// Called before a batch; the list is still the old one.
  func viewWillChange()
  /// Shows a row's new value by the given kind of refresh.
  func view(refresh model: Model, at path: RowPath, by refresh: RowRefresh)
  /// Reloads a section, whose title changed.
  func view(reloadSection section: Int)
  /// Removes a section with its rows.
  func view(removeSection section: Int)
  /// Inserts a section with its rows.
  func view(insertSection section: Int)
  /// Removes a row.
  func view(removeRowAt path: RowPath)
  /// Inserts a row.
  func view(insertRowAt path: RowPath)
  /// Called after the batch.
  func viewDidChange()
  /// Runs a batch, at once or later.
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
  /// The kind of refresh for an update; nil if the view has drawn it already. By default every
  /// update reloads its row.
  public var refresh: (Model) -> RowRefresh? = { _ in .reload }
  private weak var view: (any ConsumerView<Model>)?

  /// Creates an adapter for a view, held weakly.
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
