// Types of TreeRingHTTP occur in this module's interface, so `import TreeRingFirebase` brings
// requests, answers and transports too.

@_exported public import TreeRingHTTP
