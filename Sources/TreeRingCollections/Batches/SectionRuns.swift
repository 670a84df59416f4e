// The sections of a list: runs of rows with equal titles, weighed by their number of rows, so that a row's
// section and a section's first row are found in O(log sections).

internal import TreeRingMappings

/// What stands for a title: sections are found and compared by number, whatever titles are.
typealias TitleNumber = Int

/// Numbers titles in the order they are first seen. Numbers are never given back.
struct TitleTable<Title: Hashable> {
  private(set) var titles: [Title] = []
  private var numbers: [Title: TitleNumber] = [:]

  /// The number of a title.
  mutating func number(of title: Title) -> TitleNumber {
    if let number = numbers[title] { return number }
    numbers[title] = titles.count
    titles.append(title)
    return titles.count - 1
  }
}

/// A run of rows with one title.
struct SectionRun: Sendable {
  let title: TitleNumber
  var count: Int
}

/// A section and where it is.
struct LocatedSection {
  let index: Int
  let title: TitleNumber
  /// Its rows, by their positions in the list.
  let rows: Range<Int>
}

/// A run weighs as much as it has rows.
enum RunMeasure: ListMeasure {
  static func weight(of run: SectionRun) -> Int { run.count }
}

/// The runs of a list, kept while rows come and go one by one.
struct SectionRuns: Sendable {
  private var runs = RankedList<SectionRun, RunMeasure>(capacity: 16, leafCapacity: 64)

  /// No rows.
  init() {}

  /// The runs of these rows. O(n).
  init(_ titles: some Sequence<TitleNumber>) {
    var list: [SectionRun] = []
    for title in titles {
      if list.last?.title == title {
        list[list.count - 1].count += 1
      } else {
        list.append(SectionRun(title: title, count: 1))
      }
    }
    runs = RankedList(list, capacity: 16, leafCapacity: 64)
  }

  /// How many sections there are.
  var count: Int { runs.count }

  /// The title of a section. O(log sections).
  func title(of section: Int) -> TitleNumber { runs[section].title }

  /// The rows of a section, by their positions in the list. O(log sections).
  func rows(of section: Int) -> Range<Int> {
    let start = runs.weight(before: section)
    return start..<start + runs[section].count
  }

  /// The section of the row at a position. O(log sections).
  func section(ofRow row: Int) -> LocatedSection {
    let (section, start, run) = runs.position(atWeight: row)
    return LocatedSection(index: section, title: run.title, rows: start..<start + run.count)
  }

  /// The path of the row at a position. O(log sections).
  func path(ofRow row: Int) -> RowPath {
    let (section, start, _) = runs.position(atWeight: row)
    return RowPath(section: section, row: row - start)
  }

  /// Takes the row at a position out. Two runs of one title that meet become one. O(log sections).
  mutating func remove(row: Int) {
    let (section, _, found) = runs.position(atWeight: row)
    var run = found
    run.count -= 1
    if run.count > 0 {
      runs[section] = run
      return
    }
    runs.remove(at: section)
    guard section > 0, section < runs.count, runs[section - 1].title == runs[section].title else {
      return
    }
    run = runs.remove(at: section)
    run.count += runs[section - 1].count
    runs[section - 1] = run
  }

  /// Puts a row in at a position: into the run there or the one that ends there if it has its title;
  /// else it is a run of its own, and parts the one it stands in. O(log sections).
  mutating func insert(_ title: TitleNumber, row: Int) {
    var (section, start) = (runs.count, row)
    var parted: SectionRun?
    if row < runs.weight { (section, start, parted) = runs.position(atWeight: row) }
    if let parted, parted.title == title {
      runs[section] = SectionRun(title: title, count: parted.count + 1)
    } else if row == start, section > 0, runs[section - 1].title == title {
      runs[section - 1].count += 1
    } else if row == start {
      runs.insert(SectionRun(title: title, count: 1), at: section)
    } else if let parted {
      runs[section].count = row - start
      runs.insert(SectionRun(title: title, count: 1), at: section + 1)
      runs.insert(
        SectionRun(title: parted.title, count: parted.count - (row - start)), at: section + 2)
    }
  }
}
