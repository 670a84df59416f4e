// Requests over Foundation's URL session, with a delegate that passes on each piece as it comes.
//
// On Linux nothing makes a session wait: a task that is resumed begins its request again, and a
// delegate's queue that blocks holds up every session there is. So a request is cancelled when too
// many bytes wait for its reader. The limit is the largest message that the reader accepts. So no
// message alone cuts off a reader that takes its time, and the next attempt makes progress.

internal import Foundation
internal import TreeRingPlatform

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A URL session whose answers are streams.
package final class SessionTransport: HTTPTransport {
  private let receiver: AnswerReceiver
  private let session: URLSession

  /// - Parameter limit: The most bytes of an answer that wait for its reader. Beyond it the answer
  ///   ends with the error `ConnectionLost`.
  package init(limit: Int) {
    receiver = AnswerReceiver(limit: limit)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    // Each listener holds one connection; pages must not wait for these to end.
    configuration.httpMaximumConnectionsPerHost = 256
    session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
  }

  // The session keeps its delegate alive until then.
  deinit { session.invalidateAndCancel() }

  package func send(_ request: HTTPRequest) -> AnswerStream {
    var sent = URLRequest(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData)
    sent.httpMethod = request.method
    sent.httpBody = request.body.map { Data($0) }
    sent.timeoutInterval = request.silence / .seconds(1)
    for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
    let task = session.dataTask(with: sent)
    // Keeps the session alive as long as the answer is read.
    let pipe = AnswerPipe(whenClosed: { [self] in withExtendedLifetime(self) { task.cancel() } })
    receiver.register(pipe, for: task.taskIdentifier)
    let stream = pipe.stream
    task.resume()
    return stream
  }
}

/// The delegate of a session: passes the pieces of each answer to its pipe.
private final class AnswerReceiver: NSObject, URLSessionDataDelegate {
  private let limit: Int
  private let pipes = Mutex<[Int: AnswerPipe]>([:])

  init(limit: Int) { self.limit = limit }

  func register(_ pipe: AnswerPipe, for task: Int) {
    pipes.withLock { $0[task] = pipe }
  }

  /// Passes on a piece; cancels the task if its reader is too slow, or wants no more.
  private func pass(_ piece: HTTPAnswer, of task: URLSessionTask) {
    guard let pipe = pipes.withLock({ $0[task.taskIdentifier] }) else { return }
    if pipe.offer(piece, limit: limit) { return }
    // Later pieces are dropped without another cancelling, which would delay the first one.
    pipes.withLock { $0[task.taskIdentifier] = nil }
    task.cancel()
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let response = response as? HTTPURLResponse
    var headers: [String: String] = [:]
    for (name, value) in response?.allHeaderFields ?? [:] {
      headers["\(name)".lowercased()] = "\(value)"
    }
    pass(.head(status: response?.statusCode ?? 0, headers: headers), of: dataTask)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    pass(.bytes([UInt8](data)), of: dataTask)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let pipe = pipes.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    pipe?.finish(throwing: error)
  }
}
