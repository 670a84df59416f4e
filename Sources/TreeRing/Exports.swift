// Callers write `import TreeRing`; it re-exports the log's few public types (commit numbers,
// timestamps, durability, errors).

@_exported public import TreeRingLog
