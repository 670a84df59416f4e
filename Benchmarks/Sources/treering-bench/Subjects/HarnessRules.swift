// The rules of the harness itself: a busy engine is asked again, a failed peer loses its cells
// alone, and a wrong result ends the program.

internal import BenchmarkHarness
internal import BenchmarkResults

let harnessRules = Subject(name: "HarnessRules") { context in
  var tries = 0
  try whileBusy {
    tries += 1
    if tries < 4 { throw EngineBusy("locked") }
  }
  try require(tries == 4, "a busy engine is asked again")

  let gaveUp = try failure {
    try whileBusy(for: 0) { throw EngineBusy("locked") }
  }
  try require("\(gaveUp)" == "locked, for 0 s", "an engine that stays busy is given up")

  let line = Measurement("HarnessRules", "an expected failure", unit: "rows", .higher)
  line.add("peer", 1)
  try context.attempt("peer", [line]) { throw EngineBusy("full") }
  try context.attempt("peer", [line]) { line.add("peer", 2) }
  try context.attempt("other", [line]) { line.add("other", 3) }
  try require(line.line.median("peer") == nil, "a failed peer has no figure")
  try require(line.line.failures == ["peer": "full"], "its reason is known")
  try require(line.line.median("other") == 3, "the other engines go on")

  let wrong = try failure {
    try context.attempt("other", [line]) {
      try line.check(1, of: TreeRingEngine.name)
      try line.check(2, of: "other")
    }
  }
  try require(wrong is WrongResult, "a wrong result ends the program")
  let own = try failure {
    try context.attempt(TreeRingEngine.name, [line]) { throw BenchmarkError("an error") }
  }
  try require(own is BenchmarkError, "an error of TreeRing ends the program")
  try line.check(3, of: NoEngine.name)
  try line.check(4, of: LogAlone.name)
  try require(line.line.digest == "1", "engines that are not compared have no result")
  line.add(LogAlone.name, 9)
  line.add(EngineName.read, 9)
  line.add(EngineName.copy, 9)
  try require(line.line.bestPeer?.name == "other", "nor are they the best peer")
}

private func require(_ isMet: Bool, _ rule: String) throws {
  guard isMet else { throw WrongResult("the harness breaks a rule: \(rule)") }
}

/// The error that `body` throws.
private func failure(_ body: () throws -> Void) throws -> any Error {
  do {
    try body()
  } catch {
    return error
  }
  throw WrongResult("the harness breaks a rule: nothing failed")
}
