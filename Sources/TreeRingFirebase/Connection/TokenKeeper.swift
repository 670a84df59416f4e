// The token that all requests of a source share. Requests that meet a refused token at the same
// time cause one renewal.

/// The keeper of a source's token.
actor TokenKeeper {
  /// A token and its number; a renewal gets the next number.
  struct Numbered: Sendable {
    let token: FirebaseToken?
    let number: Int
  }

  private let provider: (@Sendable (FirebaseTokenRequest) async throws -> FirebaseToken?)?
  private var current: Numbered?
  private var renewal: Task<Numbered, any Error>?
  private var count = 0

  init(_ provider: (@Sendable (FirebaseTokenRequest) async throws -> FirebaseToken?)?) {
    self.provider = provider
  }

  /// Whether a refused token can be renewed.
  nonisolated var canRenew: Bool { provider != nil }

  /// The token; requests it if there is none yet.
  func token() async throws -> Numbered {
    if let current { return current }
    return try await renew(.first)
  }

  /// Forgets a token that the server refused, and requests another one. Has no effect if the token
  /// has been renewed since.
  func refuse(_ number: Int, _ reason: FirebaseTokenRequest) async throws {
    if let current, current.number != number { return }
    _ = try await renew(reason)
  }

  private func renew(_ reason: FirebaseTokenRequest) async throws -> Numbered {
    if let renewal { return try await renewal.value }
    count += 1
    let number = count
    let provider = provider
    let task = Task { Numbered(token: try await provider?(reason), number: number) }
    current = nil
    renewal = task
    defer { renewal = nil }
    let renewed = try await task.value
    current = renewed
    return renewed
  }
}
