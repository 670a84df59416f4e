// The sections of a list: runs of rows with equal titles, weighed by their number of rows. So the
// section of a row and the first row of a section are found in O(log sections).

internal import TreeRingMappings

/// The number of a title. Sections are found and compared by it, whatever the type of titles.
typealias TitleNumber = Int

/// Numbers titles in the order of their first use. Numbers are never reused.
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

/// A section with its position.
struct LocatedSection {
  let index: Int
  let title: TitleNumber
  /// Its rows, as positions in the list.
  let rows: Range<Int>
}

/// The measure of runs: the number of rows.
enum RunMeasure: ListMeasure {
  static func weight(of run: SectionRun) -> Int { run.count }
}

/// The runs of a list, updated as rows come and go one by one.
struct SectionRuns: Sendable {
  private var runs = RankedList<SectionRun, RunMeasure>(capacity: 16, leafCapacity: 64)

  /// The runs of an empty list.
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

  /// The number of sections.
  var count: Int { runs.count }

  /// The title of a section. O(log sections).
  func title(of section: Int) -> TitleNumber { runs[section].title }

  /// The rows of a section, as positions in the list. O(log sections).
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

  /// Removes the row at a position. Two runs of one title that become adjacent merge. O(log
  /// sections).
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

  /// Inserts a row at a position. It joins the run there, or the one that ends there, if that has
  /// its title. Else it becomes a run of its own and splits the run around it. O(log sections).
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
