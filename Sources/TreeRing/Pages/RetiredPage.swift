// The reference to a retired page, which outlives the page.
//
// A transaction retires a page when it replaces or removes it. The pin table keeps the page while a
// pinned commit reaches it, and then frees it.

/// The number and birth of a page that was written or that a transaction replaced.
package struct RetiredPage: Hashable, Sendable {
  /// The page's number.
  package var number: PageNumber
  /// The birth of the page.
  package var birth: PageBirth

  package init(number: PageNumber, birth: PageBirth) {
    self.number = number
    self.birth = birth
  }
}
