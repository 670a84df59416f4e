// The transport, under the names of this module.

public import TreeRingHTTP

/// A request with the method GET. Its address may contain a credential.
public typealias FirebaseRequest = HTTPRequest
/// A piece of an answer.
public typealias FirebaseAnswer = HTTPAnswer
/// The sender of requests; ``FirebaseOptions/transport`` may name another than the system's.
public typealias FirebaseTransport = HTTPTransport

typealias Answer = AsyncThrowingStream<HTTPAnswer, any Error>
