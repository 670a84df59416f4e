// A filter of nil in place of `removeFilter`.

import TreeRing
import TreeRingCollections

struct Arrival: ValueModel { var identifier: String }

func showAll(of arrivals: LiveCollection<Arrival>) {
  arrivals.setFilter(nil)
}
