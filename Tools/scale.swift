// Simulates the shards of docs/scale.md, and compares each figure with the formula of that page.
// Fails if a difference exceeds its tolerance. The same seed gives the same figures.
//
// Machines stand in clusters of three. Each machine of a shard's cluster has a replica of its log
// and one of its store; one leads the log, one has the writer. A machine crashes or loses its disk.
// A crashed one returns and reads what it lacks. A lost disk is replaced and filled with bounded
// bandwidth; until then its replicas neither vote nor acknowledge. A log with two complete replicas
// goes on after an election, a store after a change of writer. Shards move to other clusters.
// Commits are simulated in samples: some seconds of each shard, and 5,000 of all outages.

import Foundation

/// The inputs, which are options of the command, and the formulas. In seconds and bytes.
struct Plan {
  var (seed, shards, machines, days, months) = (1.0, 1_000.0, 48.0, 30.0, 20_000.0)
  /// Of a shard: commits a second, on average and in the busiest hour, and rows.
  var (rate, peak, rows) = (10.0, 30.0, 1e6)
  /// Crashes of a machine and losses of a disk a year; the mean times of a restart and of a
  /// replacement; moves of shards a day.
  var (crashes, losses, restart, replacement, moves) = (12.0, 0.0157, 300.0, 600.0, 10.0)
  /// Of a machine: bytes a second received in copies, and rows a second that its stores adopt.
  var (bandwidth, adopt) = (1e8, 1e5)

  static let options: KeyValuePairs<String, WritableKeyPath<Plan, Double>> = [
    "seed": \.seed, "shards": \.shards, "machines": \.machines, "days": \.days, "rate": \.rate,
    "months": \.months, "peak": \.peak, "rows": \.rows, "crashes": \.crashes, "adopt": \.adopt,
    "losses": \.losses, "restart": \.restart, "replacement": \.replacement, "moves": \.moves,
    "bandwidth": \.bandwidth,
  ]

  var description: String {
    Self.options.map { "--\($0.key) \(text(self[keyPath: $0.value]))" }.joined(separator: " ")
  }
  var (year, entryBytes) = (365 * 86_400.0, 500.0)
  var (electionMean, electionSpread, writerChange, moveSwitch) = (6.5, 5.0, 1.0, 0.5)
  /// The time of an append, which is log-normal, and its share of each further entry of a group.
  var (appendMedian, appendSigma, appendShare) = (0.90e-3, log(5.1 / 0.90) / 2.3263, 0.0427e-3)
  /// Shards of a cluster, bytes a second of its logs, bytes of a shard's log and of its store.
  var load: Double { shards * 3 / machines }
  var logRate: Double { load * rate * entryBytes }
  var logBytes: Double { rate * 3 * 86_400 * entryBytes }
  var storeBytes: Double { rows * 207 + rate * 30 * 86_400 * 242 }
  var crashRate: Double { crashes / year }
  var lossRate: Double { losses / year }
  var failureRate: Double { crashRate + lossRate }
  /// The time from a crash, and from the loss of a disk, until the logs are complete again.
  var crashTime: Double { restart * (1 + logRate / bandwidth) }
  var lossTime: Double { replacement + load * logBytes / bandwidth }
  /// The share of time in which a machine's logs are not complete.
  var absence: Double { 1 - 1 / (1 + crashRate * crashTime + lossRate * lossTime) }
  var belowThree: Double { 1 - pow(1 - absence, 3) }
  var belowQuorum: Double { 3 * absence * absence * (1 - absence) + pow(absence, 3) }
  /// The rates at which a machine of a complete cluster fails, and a second one after it.
  var firstFailures: Double { 3 * failureRate * pow(1 - absence, 3) }
  var secondFailures: Double { 6 * failureRate * absence * pow(1 - absence, 2) }
  var movesOfShard: Double { moves / shards / 86_400 }
  /// The share of time in which the leader of a log and the writer of its store are apart.
  var apart: Double {
    (firstFailures / 6 + movesOfShard * 2 / 3) / (firstFailures / 2 + movesOfShard)
  }
  var outages: Double { firstFailures * (1 + apart) / 3 + secondFailures + movesOfShard }
  /// The share of time in which a shard takes no commits, and of commits that wait over a second.
  var unavailability: Double {
    firstFailures * (electionMean + writerChange * apart) / 3 + belowQuorum
      + secondFailures * electionMean + movesOfShard * moveSwitch
  }
  var slow: Double { (firstFailures / 3 + secondFailures) * (electionMean - 1) + belowQuorum }
  /// Second disks of a cluster lost before the first is filled, a second.
  var doubleLosses: Double { machines / 3 * 6 * lossRate * lossRate * lossTime }
  var catchUp: Double { load * rate * restart / (adopt - load * rate) }
  var fill: Double { lossTime + load * storeBytes / bandwidth }
  var sentBytes: Double { shards * rate * entryBytes * (apart + 10.0 / 3) / machines }
  var copiedBytes: Double {
    (1 - absence) * (crashRate * restart * logRate + lossRate * load * (logBytes + storeBytes))
      + moves / 86_400 * 3 * storeBytes / machines
  }

  /// The time within which a share of commits is acknowledged outside of outages: an append, or for
  /// those that meet another append, the rest of that and then their own.
  func latency(_ share: Double, rate: Double) -> Double {
    let (mean, step) = (appendMedian * exp(appendSigma * appendSigma / 2), 0.02e-3)
    let within = { 0.5 * erfc(-log($0 / appendMedian) / appendSigma / 2.0.squareRoot()) }
    var (low, high) = (0.0, 0.1)
    while high - low > 1e-7 {
      let t = (low + high) / 2
      let met = stride(from: step / 2, to: t, by: step).reduce(0) { sum, rest in
        sum + (1 - within(rest)) / mean * within(t - rest) * step
      }
      if within(t) + rate * mean * (met - within(t)) < share { low = t } else { high = t }
    }
    return high
  }
}

/// SplitMix64.
struct Random {
  var state: UInt64

  mutating func unit() -> Double {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return (Double((z ^ (z >> 31)) >> 11) + 0.5) / 9_007_199_254_740_992
  }

  mutating func exponential(_ mean: Double) -> Double { -log(unit()) * mean }
  mutating func normal() -> Double { (-2 * log(unit())).squareRoot() * cos(2 * .pi * unit()) }
  mutating func one(of list: [Int]) -> Int { list[Int(unit() * Double(list.count))] }
}

/// One run of all months, with its sums.
struct Simulation {
  /// The time up to which a machine has the entries: endless if all, minus that if none.
  struct Machine { var (known, sent) = (Double.infinity, 0.0) }
  /// The time at which the quorum was lost, as long as there is none, and of the last change.
  struct Cluster { var (shards, stopped, changed): ([Int], Double?, Double) = ([], nil, 0) }
  struct Shard { var (cluster, leader, writer, blocked, blockedUntil) = (0, 0, 0, 0.0, 0.0) }

  let plan: Plan
  var random: Random
  var now = 0.0
  var queue: [(time: Double, event: (inout Simulation) -> Void)] = []
  var machines: [Machine]
  var clusters: [Cluster]
  var shards: [Shard]
  var (crashes, losses, doubles, outages, stops, moves, samples) = (0, 0, 0, 0, 0, 0, 0)
  var (lost, belowThree, belowQuorum, copied, catchUp, fill) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
  var someOutages = Array(repeating: 0.0, count: 5_000)

  init(_ plan: Plan) {
    self.plan = plan
    random = Random(state: UInt64(plan.seed))
    machines = Array(repeating: Machine(), count: Int(plan.machines))
    clusters = Array(repeating: Cluster(), count: Int(plan.machines) / 3)
    shards = Array(repeating: Shard(), count: Int(plan.shards))
    for index in shards.indices { place(index, in: index % clusters.count) }
    for index in machines.indices { restore(index) }
    schedule(after: random.exponential(86_400 / plan.moves)) { $0.beginMove() }
    sampleTraffic()
    let end = plan.months * plan.days * 86_400
    while now < end, let next = queue.indices.min(by: { queue[$0].time < queue[$1].time }) {
      let (time, event) = queue.remove(at: next)
      now = min(time, end)
      if time < end { event(&self) }
    }
    for index in clusters.indices { account(index) }
  }

  mutating func schedule(after delay: Double, _ event: @escaping (inout Simulation) -> Void) {
    queue.append((now + delay, event))
  }

  func complete(_ cluster: Int) -> [Int] {
    (cluster * 3..<cluster * 3 + 3).filter { machines[$0].known == .infinity }
  }

  mutating func place(_ shard: Int, in cluster: Int) {
    let members = complete(cluster)
    clusters[cluster].shards.append(shard)
    shards[shard].cluster = cluster
    shards[shard].leader = random.one(of: members)
    shards[shard].writer = random.one(of: members)
  }

  /// Adds the time since the last change of a cluster to the sums.
  mutating func account(_ cluster: Int) {
    let count = complete(cluster).count
    if count < 3 { belowThree += now - clusters[cluster].changed }
    if count < 2 { belowQuorum += now - clusters[cluster].changed }
    clusters[cluster].changed = now
  }

  /// Takes no commits of a shard for some time. Outages that overlap are one.
  mutating func block(_ shard: Int, from start: Double, until end: Double) {
    let from = max(start, shards[shard].blockedUntil)
    guard end > from else { return }
    shards[shard].blocked += end - from
    shards[shard].blockedUntil = end
    guard from == start else { return }
    outages += 1
    let slot = outages > someOutages.count ? random.unit() * Double(outages) : Double(outages - 1)
    if Int(slot) < someOutages.count { someOutages[Int(slot)] = end - from }
  }

  mutating func elect(_ shard: Int, among candidates: [Int], since start: Double) {
    shards[shard].leader = random.one(of: candidates)
    let time = plan.electionMean + (random.unit() - 0.5) * plan.electionSpread
    block(shard, from: start, until: now + time)
  }

  /// Crashes a machine or loses its disk. Commits that no other machine has are lost, except those
  /// that are in a copy made a day before.
  mutating func fail(_ machine: Int) {
    let cluster = machine / 3
    account(cluster)
    let load = Double(clusters[cluster].shards.count)
    let acknowledged = clusters[cluster].stopped ?? now
    machines[machine].known = acknowledged
    if random.unit() * plan.failureRate < plan.lossRate {
      machines[machine].known = -.infinity
      let known = machines[cluster * 3..<cluster * 3 + 3].map(\.known)
      lost += min(max(0, acknowledged - (known.max() ?? 0)), 86_400) * load * plan.rate
      if known.count(where: { $0 == -.infinity }) > 1 { doubles += 1 }
      losses += 1
      let (logs, stores) = (load * plan.logBytes, load * plan.storeBytes)
      copied += logs + stores
      fill += plan.replacement + (logs + stores) / plan.bandwidth
      schedule(after: plan.replacement + logs / plan.bandwidth) { $0.restore(machine) }
    } else {
      crashes += 1
      let (time, entries) = (random.exponential(plan.restart), load * plan.rate)
      copied += time * entries * plan.entryBytes
      catchUp += time * entries / (plan.adopt - entries)
      let reading = time * entries * plan.entryBytes / plan.bandwidth
      schedule(after: time + reading) { $0.restore(machine) }
    }
    let others = complete(cluster)
    if others.count == 1 { (clusters[cluster].stopped, stops) = (now, stops + 1) }
    for shard in clusters[cluster].shards where others.count == 2 {
      if shards[shard].leader == machine {
        elect(shard, among: others, since: now)
      } else if shards[shard].writer == machine {
        block(shard, from: now, until: now + plan.writerChange)
      }
      if shards[shard].writer == machine { shards[shard].writer = random.one(of: others) }
    }
  }

  /// Completes the logs of a machine, and lets its cluster go on if it had no quorum.
  mutating func restore(_ machine: Int) {
    let cluster = machine / 3
    account(cluster)
    machines[machine].known = .infinity
    schedule(after: random.exponential(1 / plan.failureRate)) { $0.fail(machine) }
    let members = complete(cluster)
    guard members.count == 2, let stopped = clusters[cluster].stopped else { return }
    clusters[cluster].stopped = nil
    for shard in clusters[cluster].shards {
      elect(shard, among: members, since: stopped)
      shards[shard].writer = random.one(of: members)
    }
  }

  mutating func beginMove() {
    schedule(after: random.exponential(86_400 / plan.moves)) { $0.beginMove() }
    let shard = Int(random.unit() * plan.shards)
    let others = clusters.indices.filter { $0 != shards[shard].cluster }
    let target = random.one(of: others)
    copied += 3 * plan.storeBytes
    schedule(after: plan.storeBytes / plan.bandwidth) { $0.endMove(of: shard, to: target) }
  }

  /// Switches a shard to its new cluster, once both clusters have a quorum.
  mutating func endMove(of shard: Int, to target: Int) {
    let source = shards[shard].cluster
    guard clusters[source].stopped == nil, clusters[target].stopped == nil else {
      return schedule(after: 60) { $0.endMove(of: shard, to: target) }
    }
    moves += 1
    block(shard, from: now, until: now + plan.moveSwitch)
    clusters[source].shards.removeAll { $0 == shard }
    place(shard, in: target)
  }

  /// Adds the bytes that each machine sends in a second: the writer sends an entry to the leader,
  /// the leader to the others, and a store that only reads gets it from any of the three replicas.
  mutating func sampleTraffic() {
    schedule(after: plan.days * 86_400) { $0.sampleTraffic() }
    samples += 1
    let entries = plan.rate * plan.entryBytes
    for shard in shards {
      if shard.writer != shard.leader { machines[shard.writer].sent += entries }
      machines[shard.leader].sent += entries * 2
      for machine in shard.cluster * 3..<shard.cluster * 3 + 3 {
        machines[machine].sent += entries * (machine == shard.writer ? 2 : 1) / 3
      }
    }
  }
}

func text(_ value: Double, _ format: String = "%.4g") -> String { String(format: format, value) }

func show(_ cells: String...) {
  let right = cells.dropFirst().map { String(repeating: " ", count: max(1, 11 - $0.count)) + $0 }
  print(cells[0].padding(toLength: 44, withPad: " ", startingAt: 0) + right.joined())
}

/// Prints a figure beside its formula. The tolerance is three hundredths, and three standard
/// deviations of the number of events that the figure comes from.
func compare(_ name: String, _ figure: Double, _ formula: Double, _ events: Int = .max) {
  let tolerance = 0.03 + 3 / Double(max(1, events)).squareRoot()
  let difference = figure / formula - 1
  let isWrong = abs(difference) > tolerance
  if isWrong { wrong += 1 }
  let (percent, limit) = (text(difference * 100, "%+.1f %%"), text(tolerance * 100, "%.0f %%"))
  show(name, text(figure), text(formula), percent, limit + (isWrong ? " !" : ""))
}

/// Runs a plan, and compares the figures of failures and traffic.
func compareFailures(_ plan: Plan, _ title: String) -> Simulation {
  let run = Simulation(plan)
  let (years, year, up) = (run.now / plan.year, plan.year, plan.machines * (1 - plan.absence))
  let (clusters, failures) = (run.now * plan.machines / 3, run.crashes + run.losses)
  let blocked = run.shards.map { $0.blocked / years }
  let seconds = blocked.reduce(0, +) / plan.shards
  let sent = run.machines.reduce(0) { $0 + $1.sent } / Double(run.samples) / plan.machines / 1e6
  let copied = run.copied / run.now / plan.machines / 1e6
  let outages = Double(run.outages) / years / plan.shards
  // The seconds vary mostly with the lost quorums, which are few, long and unequal.
  let (stops, weight) = (Double(run.stops) / 2, plan.belowQuorum / plan.unavailability)
  let lines = [
    ("crashes a day", Double(run.crashes) / years / 365, up * plan.crashes / 365, run.crashes),
    ("lost disks a year", Double(run.losses) / years, up * plan.losses, run.losses),
    ("outages of a shard a year", outages, plan.outages * year, failures),
    ("seconds of them", seconds, plan.unavailability * year, Int(stops / weight / weight)),
    ("time without all replicas, share", run.belowThree / clusters, plan.belowThree, failures),
    ("time without quorum, share", run.belowQuorum / clusters, plan.belowQuorum, Int(stops)),
    ("stores catch up, s", run.catchUp / Double(run.crashes), plan.catchUp, run.crashes),
    ("a lost disk is filled, s", run.fill / Double(max(1, run.losses)), plan.fill, run.losses),
    ("sent by a machine for commits, MB/s", sent, plan.sentBytes / 1e6, run.samples),
    ("copied to a machine, MB/s", copied, plan.copiedBytes / 1e6, run.moves),
    ("pairs of disks a year", Double(run.doubles) / years, plan.doubleLosses * year, run.doubles),
  ]
  show("\n" + title, "simulated", "formula", "differs by", "tolerance")
  for (name, figure, formula, events) in lines { compare(name, figure, formula, events) }
  show("acknowledged commits lost", text(run.lost))
  show("seconds a year of the worst shard", text(blocked.max() ?? 0))
  if run.lost > 0, run.doubles == 0 { wrong += 1 }
  return run
}

func compareLatencies(_ run: Simulation) {
  let plan = run.plan
  var random = Random(state: UInt64(plan.seed) &+ 1)
  /// The commits of a shard in some seconds. Those that arrive during an append share the next one.
  func commits(_ rate: Double, _ seconds: Double, _ outage: Range<Double>) -> [Double] {
    var (arrivals, next, free): ([Double], Double, Double) = ([], random.exponential(1 / rate), 0)
    while next < seconds {
      let start = outage.contains(max(next, free)) ? outage.upperBound : max(next, free)
      free = start + plan.appendMedian * exp(plan.appendSigma * random.normal())
      let first = arrivals.count
      while next <= start, next < seconds {
        arrivals.append(next)
        next += random.exponential(1 / rate)
      }
      free += plan.appendShare * Double(arrivals.count - first - 1)
      if (start..<free).contains(outage.lowerBound) { free += outage.upperBound - start }
      for index in first..<arrivals.count { arrivals[index] = free - arrivals[index] }
    }
    return arrivals
  }
  /// Compares percentiles of commits, each with the number of those that it stands for.
  func compareShares(_ name: String, _ commits: [(Double, Double)], _ rate: Double, slow: Double) {
    let sorted = commits.sorted { $0.0 < $1.0 }
    for percent in [50.0, 99] {
      var (rest, figure) = (commits.reduce(0) { $0 + $1.1 } * percent / 100, 0.0)
      for (latency, weight) in sorted where rest > 0 {
        rest -= weight
        figure = latency
      }
      let formula = plan.latency(percent / 100 / (1 - slow), rate: rate)
      compare("\(name), p\(text(percent)), ms", figure * 1e3, formula * 1e3)
    }
  }
  let busy = run.shards.flatMap { _ in commits(plan.peak, 600 / plan.peak, 0..<0) }
  let usual = run.shards.flatMap { _ in commits(plan.rate, 600 / plan.rate, 0..<0) }
  compareShares("commit at the peak", busy.map { ($0, 1) }, plan.peak, slow: 0)
  compareShares("commit at the mean rate", usual.map { ($0, 1) }, plan.rate, slow: 0)
  // A sampled outage stands for as many as there were for each sampled one, and a commit outside
  // of them for its share of the others.
  let lengths = run.someOutages.prefix(run.outages)
  let weight = Double(run.outages) / Double(lengths.count)
  let all = run.now * plan.shards * plan.rate
  let outages = lengths.flatMap { commits(plan.rate, $0 + 4, 2..<$0 + 2) }
  let rest = (all - weight * Double(outages.count)) / Double(usual.count)
  let whole = outages.map { ($0, weight) } + usual.map { ($0, rest) }
  compareShares("commit with outages", whole, plan.rate, slow: plan.slow)
  let slow = Double(outages.count { $0 > 1 }) * weight / all * 1e6
  compare("over a second, of a million", slow, plan.slow * 1e6, lengths.count / 10)
  show("slowest of the sampled commits, s", text(outages.max() ?? 0))
}

var (plan, wrong) = (Plan(), 0)
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
  let path = Plan.options.first { "--\($0.key)" == word }?.value
  guard let path, let value = words.popFirst().flatMap(Double.init), value > 0 else {
    print("Options: \(plan.description)")
    exit(2)
  }
  plan[keyPath: path] = value
}
if plan.machines < 6 || Int(plan.machines) % 3 > 0 { fatalError("Clusters have three machines.") }
print((["--seed \(text(plan.seed))"] + CommandLine.arguments.dropFirst()).joined(separator: " "))
let run = compareFailures(plan, "The plan")
compareLatencies(run)
(plan.crashes, plan.losses, plan.months) = (plan.crashes * 20, plan.losses * 2_000, plan.months / 5)
_ = compareFailures(plan, "Crashes × 20, lost disks × 2,000")
print(wrong == 0 ? "\nAll agree." : "\n\(wrong) differ.")
exit(wrong == 0 ? 0 : 1)
