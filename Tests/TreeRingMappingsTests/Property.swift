// The names of the properties of every change.

/// The properties that `violations` checks. Their names let a test state which one caught a flaw.
enum Property: String, CaseIterable {
  case valid, minimal, updates, bystanders, batch, steps, stepCount, keyed, stages, before, after
  case legacy, reset
}
