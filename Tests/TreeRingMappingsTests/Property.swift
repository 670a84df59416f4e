// The names of the properties of every change.

/// The properties that `violations` checks. Each deliberate mistake of Tests/Mistakes names one.
enum Property: String, CaseIterable {
  case valid, minimal, updates, bystanders, batch, steps, stepCount, keyed, stages, before, after
  case legacy, reset
}
