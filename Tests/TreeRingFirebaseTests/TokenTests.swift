// Tokens: requested at the start, after a refusal, and after a revocation.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRingCollections
@testable import TreeRingFirebase

/// Gives the tokens "t1", "t2" and so on.
private final class TokenGiver: Sendable {
  let requests = Mutex<[FirebaseTokenRequest]>([])
  func next(_ request: FirebaseTokenRequest) -> FirebaseToken {
    requests.withLock { requests in
      requests.append(request)
      return .idToken("t\(requests.count)")
    }
  }
}

@Suite struct TokenTests {
  private func stage(
    _ giver: TokenGiver, mode: LoadingMode = .live
  ) throws -> FirebaseStage {
    let server = FakeFirebase()
    server.token = "t1"
    return try FirebaseStage(
      server: server, mode: mode, options: FirebaseStage.options(token: { giver.next($0) }))
  }

  @Test func aTokenIsRequestedOnceForAllRequests() async throws {
    let giver = TokenGiver()
    let stage = try stage(giver, mode: .paged(batchSize: 2))
    for number in 0..<5 { stage.put("k\(number)", .number(1)) }
    while await stage.collection.load().hasMore {}
    try await stage.settle()
    #expect(giver.requests.withLock(\.self) == [.first])
    await stage.end()
  }

  @Test(arguments: FaultTests.modes) func anExpiredTokenIsRenewed(mode: LoadingMode) async throws {
    let giver = TokenGiver()
    let stage = try stage(giver, mode: mode)
    stage.server.token = "t2"
    stage.put("a", .number(1))
    #expect(await stage.collection.load().error == nil)
    try await stage.settle()
    #expect(giver.requests.withLock(\.self) == [.first, .rejected])
    // It expires again while the stream is lost.
    stage.server.token = "t3"
    stage.server.dropStreams()
    stage.put("b", .number(2))
    try await stage.settle()
    #expect(giver.requests.withLock(\.self) == [.first, .rejected, .rejected])
    await stage.end()
  }

  @Test func aTokenRefusedTwiceIsAnError() async throws {
    let giver = TokenGiver()
    for mode in FaultTests.modes {
      let stage = try stage(giver, mode: mode)
      stage.server.token = "none"
      let outcome = await stage.collection.load()
      let error = outcome.error as? FirebaseError
      #expect(error?.code == .permissionDenied && error?.serverText == "Auth token is expired")
      #expect(error?.status == 401)
      await stage.end()
    }
    #expect(giver.requests.withLock(\.self) == [.first, .rejected, .first, .rejected])
  }

  @Test func aRevokedTokenIsRenewedAndNothingIsLost() async throws {
    let giver = TokenGiver()
    let stage = try stage(giver)
    stage.put("a", .number(1))
    await stage.collection.load()
    stage.server.token = "t2"
    stage.server.endStreams("event: auth_revoked\ndata: credential is no longer valid\n\n")
    stage.put("b", .number(2))
    try await stage.settle()
    #expect(giver.requests.withLock(\.self) == [.first, .revoked])
    #expect(stage.observer.failures.isEmpty)
    await stage.end()
  }

  @Test func theErrorOfAProviderEndsTheLoad() async throws {
    struct SignedOut: Error {}
    for mode in FaultTests.modes {
      let stage = try FirebaseStage(
        server: FakeFirebase(), mode: mode,
        options: FirebaseStage.options(token: { _ in throw SignedOut() }))
      #expect(await stage.collection.load().error is SignedOut)
      await stage.end()
    }
  }

  @Test func aTokenIsNotShown() {
    #expect(
      "\(FirebaseToken.idToken("secret")) \(FirebaseToken.accessToken("secret"))".contains("secret")
        == false)
  }
}
