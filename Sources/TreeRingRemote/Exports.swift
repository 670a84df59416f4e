// Types of TreeRingHTTP occur in this module's interface, so `import TreeRingRemote` brings
// requests, answers and transports too.

@_exported public import TreeRingHTTP
