// Users write `import TreeRing`; the log's few public types (commit numbers, timestamps, durability,
// errors) come with it.

@_exported public import TreeRingLog
