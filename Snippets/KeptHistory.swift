// History of a month, with a tag that outlives it.
// snippet.show
import TreeRing

struct Reading: Codable { var celsius: Double }

let readings = Bucket<Reading>("readings")

// A month, or the newest thousand commits if they are more. History is dropped by itself when a
// segment of the log is full: the smaller the segments, the sooner.
let month = Retention.last(commits: 1000, orSince: .seconds(30 * 86_400))
let store = try Store(
  at: "readings.ring", options: StoreOptions(retention: month, segmentSize: 4 << 20))

try store.write { tx in
  try tx.put(Reading(celsius: 21.5), for: "kitchen", in: readings)
  tx.tags = ["calibrated"]  // stays readable when the commits around it are dropped
}
// snippet.hide
for step in 1...20 {
  try store.write { tx in
    try tx.put(Reading(celsius: Double(step)), for: "kitchen", in: readings)
  }
}
// snippet.show

// At once, also from the segment being written; here for less than the store's own retention.
let report = try store.compact(to: .keeping(.last(commits: 10)))
print(report.bytesBefore, report.bytesAfter, "readable from commit", report.horizon)
for holding in report.held { print("kept:", holding) }
let calibrated = try store.snapshot(at: .tag("calibrated")).get("kitchen", in: readings)
// snippet.hide
precondition(calibrated?.celsius == 21.5 && report.horizon == 12)
let dropped = Result { try store.snapshot(at: .commit(5)) }
if case .success = dropped { preconditionFailure() }
