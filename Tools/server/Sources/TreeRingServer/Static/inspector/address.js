// The address bar: everything that decides what the page shows, and nothing else. Following the
// newest commit has no "at"; a moment has its number. Browsers take a few changes a second only, so
// a slider that moves is written a few times a second.

import { throttled } from "./dom.js";

const NAMES = [
  "view", "index", "group", "bucket", "prefix", "at", "row", "commit", "columns", "top", "from",
  "to",
];

/** The state of the page as its address holds it: texts by name. */
export class Address {
  constructor() {
    this.listeners = new Set();
    this.writeSoon = throttled(300, () => this.write(false));
    this.read();
    addEventListener("hashchange", () => {
      this.read();
      for (const listener of this.listeners) listener();
    });
  }

  read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    this.state = {};
    for (const name of NAMES) {
      if (parts.has(name)) this.state[name] = parts.get(name);
    }
  }

  get(name) {
    return this.state[name];
  }

  /** A key or group, which may be bytes as JSON. */
  key(name) {
    const text = this.state[name];
    return text?.startsWith("{\"$base64\":") ? JSON.parse(text) : text;
  }

  /** Changes parts; null removes one. With `adds`, going back in the browser returns here. */
  set(parts, adds = false) {
    for (const [name, value] of Object.entries(parts)) {
      if (value === null || value === undefined) delete this.state[name];
      else this.state[name] = typeof value === "object" ? JSON.stringify(value) : String(value);
    }
    if (adds) this.write(true);
    else this.writeSoon();
  }

  /** Writes the state into the address bar. */
  write(adds) {
    const hash = this.text();
    if (hash === location.hash.slice(1)) return;
    history[adds ? "pushState" : "replaceState"](null, "", hash ? `#${hash}` : location.pathname);
  }

  /** The fragment of the present state, with other parts in it. */
  text(parts = {}) {
    const query = new URLSearchParams();
    for (const name of NAMES) {
      const value = name in parts ? parts[name] : this.state[name];
      if (value !== null && value !== undefined) query.set(name, value);
    }
    return `${query}`;
  }

  /** Calls a function when the reader goes back or forward, or pastes another address. */
  listen(listener) {
    this.listeners.add(listener);
  }
}
