// A store that reports to the app's metrics system; see docs/metrics.md.

#if Metrics
  // snippet.show
  import TreeRing
  import TreeRingMetrics

  let store = try Store(at: "library.ring")
  let metrics = try StoreMetrics(store, every: .seconds(10), dimensions: [("app", "reader")])
  // … the life of the app …
  metrics.stop()
  try store.close()
// snippet.hide
#endif
