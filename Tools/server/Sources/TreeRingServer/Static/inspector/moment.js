// The moment that every list of the page shows: the newest commit, which it follows, or one commit
// of the past. Live windows attach to it, and it moves all of them.
//
// A slider gives more moments than can be shown. A window that has not answered gets no further
// one; when it answers, it gets the latest.

/** The moment shown, and the windows that it moves. */
export class Moment {
  constructor(commit = null) {
    /** The commit shown; null follows the newest. */
    this.commit = commit;
    /** The newest commit known, and the oldest that can be read. */
    this.newest = 0;
    this.horizon = 1;
    this.windows = new Map();
    this.listeners = new Set();
  }

  get isLive() {
    return this.commit === null;
  }

  /** The commit that is shown or followed, as a number. */
  get shown() {
    return this.commit ?? this.newest;
  }

  /** The value of the parameter `at` of requests; null for now. */
  get at() {
    return this.commit;
  }

  /**
   * Calls a function after each change: "moved", "settled" once every window shows the moment,
   * "newest" for a further commit.
   */
  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(reason) {
    for (const listener of this.listeners) listener(reason);
  }

  /** Shows a commit. */
  seek(commit) {
    const target = Math.min(Math.max(Math.round(commit), this.horizon), this.newest || commit);
    if (target === this.commit) return;
    this.commit = target;
    this.isMoving = true;
    for (const window of this.windows.keys()) this.send(window);
    this.tell("moved");
  }

  /** Follows the newest commit. */
  follow() {
    if (this.isLive) return;
    this.commit = null;
    this.isMoving = true;
    for (const window of this.windows.keys()) this.send(window);
    this.tell("moved");
  }

  /** Notes the newest commit. */
  note(newest) {
    if (newest <= this.newest) return;
    this.newest = newest;
    this.tell("newest");
  }

  /** Moves a window from now on; its request already asks for the moment. */
  attach(window) {
    const state = { isWaiting: false, sent: this.commit };
    this.windows.set(window, state);
    state.stop = window.listen(() => {
      if (window.commit > this.newest) this.note(window.commit);
      if (window.isPartial) return;
      // A change that was on its way before the request is not its answer.
      if (state.sent === null || state.sent === window.commit) state.isWaiting = false;
      if (state.sent !== this.commit) this.send(window);
      this.settle();
    });
  }

  detach(window) {
    this.windows.get(window)?.stop();
    this.windows.delete(window);
  }

  /** Sends all windows there again: a new connection has opened them. */
  resend() {
    for (const state of this.windows.values()) state.isWaiting = false;
  }

  /** Ends the wait of a window whose request failed. */
  fail(window) {
    const state = this.windows.get(window);
    if (state) state.isWaiting = false;
  }

  send(window) {
    const state = this.windows.get(window);
    if (state.isWaiting) return;
    state.isWaiting = true;
    state.sent = this.commit;
    if (this.commit === null) window.live();
    else window.seek(this.commit);
  }

  /** A promise that is kept once every window shows the moment. */
  settled() {
    return new Promise((resolve) => {
      this.resolvers = [...(this.resolvers ?? []), resolve];
      this.settle();
    });
  }

  /** Whether every window shows the moment. */
  get isSettled() {
    return [...this.windows].every(([window, state]) =>
      !state.isWaiting && state.sent === this.commit && !window.isPartial);
  }

  settle() {
    if (!this.isSettled) return;
    if (this.isMoving) {
      this.isMoving = false;
      this.tell("settled");
    }
    if (!this.resolvers) return;
    for (const resolve of this.resolvers) resolve();
    this.resolvers = undefined;
  }
}
