// Live windows of a TreeRing server in a page: keyed lists that change minimally, follow the newest
// commit or stand at any earlier one, and resume after a lost connection. No dependencies.
//
//   import { LiveConnection, KeyedLists } from "/treering.js";
//   const connection = new LiveConnection("ws://127.0.0.1:8700/v1/live", { token });
//   const flights = connection.open({ index: "departures", groups: ["JFK"] });
//   new KeyedLists(document.querySelector("#board"), flights, { row: (row) => element });
//   flights.seek("2013-01-03T08:00:00-05:00");   flights.live();

const FIRST_DELAY = 250;
const LONGEST_DELAY = 10_000;
const PING_INTERVAL = 25_000;

/** The identity of a row in its window, as text. */
export function rowID(group, bucket, key) {
  return JSON.stringify([group, bucket, key]);
}

/** The identity of a group or key, as text: either may be bytes as {"$base64": …}. */
export function keyID(key) {
  return typeof key === "string" ? key : JSON.stringify(key);
}

/** One WebSocket with any number of windows. It reconnects by itself until it is closed. */
export class LiveConnection {
  /**
   * @param {string} url the address of /v1/live, with ws: or wss:
   * @param {{token?: string, WebSocket?: Function, onstate?: Function, onerror?: Function,
   *   oncommit?: Function, pingInterval?: number, parse?: Function}} options
   *   `parse(text)` reads JSON, by default `JSON.parse`, which rounds integers beyond 2^53.
   *   `oncommit(commit)` gets the newest commit with every answer to a ping, by default each 25 s.
   */
  constructor(url, options = {}) {
    this.url = url;
    this.token = options.token;
    this.onstate = options.onstate ?? (() => {});
    this.onerror = options.onerror ?? (() => {});
    this.oncommit = options.oncommit ?? (() => {});
    this.pingInterval = options.pingInterval ?? PING_INTERVAL;
    this.Socket = options.WebSocket ?? globalThis.WebSocket;
    this.parse = options.parse ?? JSON.parse;
    this.windows = new Map();
    this.nextID = 1;
    this.delay = FIRST_DELAY;
    this.isClosed = false;
    this.isOpen = false;
    this.connect();
  }

  /** Opens a window. The request has the fields of the protocol, without "open" and "from". */
  open(request) {
    const window = new LiveWindow(this, this.nextID++, request);
    this.windows.set(window.id, window);
    if (this.isOpen) window.begin();
    return window;
  }

  /** Closes the connection for good. */
  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearInterval(this.pings);
    this.socket?.close();
  }

  send(message) {
    if (this.isOpen) this.socket.send(JSON.stringify(message));
  }

  connect() {
    const protocols = this.token ? ["treering.v1", "token." + this.token] : ["treering.v1"];
    const socket = new this.Socket(this.url, protocols);
    this.socket = socket;
    socket.onopen = () => {
      this.isOpen = true;
      this.heard = true;
      this.askedAt = Date.now();
      this.onstate("open");
      for (const window of this.windows.values()) window.begin();
      this.pings = setInterval(() => this.ping(), this.pingInterval);
      if (this.pingInterval < PING_INTERVAL) this.send({ ping: null });
    };
    socket.onmessage = (event) => {
      this.heard = true;
      this.delay = FIRST_DELAY;
      this.receive(this.parse(event.data));
    };
    socket.onclose = () => this.lost(socket);
    // Node tells of an attempt that fails by this event alone.
    socket.onerror = () => this.lost(socket);
  }

  /** Ends a connection on which nothing came for as long as the usual interval of pings. */
  ping() {
    const now = Date.now();
    if (!this.heard && now - this.askedAt >= PING_INTERVAL) {
      this.socket.close();
      return;
    }
    if (this.heard) this.askedAt = now;
    this.heard = false;
    this.send({ ping: null });
  }

  lost(socket) {
    if (socket !== this.socket) return;
    this.socket = null;
    this.isOpen = false;
    clearInterval(this.pings);
    this.onstate("closed");
    if (this.isClosed) return;
    // A random part keeps many pages from returning at the same moment.
    this.timer = setTimeout(() => this.connect(), this.delay * (0.5 + Math.random() / 2));
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
  }

  receive(message) {
    if ("pong" in message) {
      this.oncommit(message.commit);
      return;
    }
    const window = this.windows.get(message.id);
    if (message.closed) this.windows.delete(message.id);
    if (message.error) {
      (window?.onerror ?? this.onerror)(message.error);
      return;
    }
    if (message.closed) return;
    window?.receive(message);
  }
}

/** One window: sections with rows, kept equal to the server's. */
export class LiveWindow {
  constructor(connection, id, request) {
    this.connection = connection;
    this.id = id;
    this.request = { ...request };
    /** The sections shown: {group, rows: [{group, bucket, key, object}]}. */
    this.sections = [];
    this.rows = new Map();
    /**
     * With the request's `totals`: the rows of each section's group, and those before the first
     * one shown, {rows, first, sum} by keyID; sum: of the group, in an index with sums.
     */
    this.totals = new Map();
    /** The commit shown, and its date; null before the first message. */
    this.commit = null;
    this.at = null;
    /** Whether a part of a whole window has not come yet. */
    this.isPartial = true;
    this.listeners = new Set();
    this.onerror = null;
  }

  /** Calls a function after every change, with the change; returns a function that ends this. */
  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Shows another moment: a commit, a date, "tag:NAME" or "-K". */
  seek(point) {
    this.request.at = point;
    this.connection.send({ id: this.id, seek: point });
  }

  /** Follows the newest commit again. */
  live() {
    delete this.request.at;
    this.connection.send({ id: this.id, live: true });
  }

  /** Shows this many more rows of groups: {group: rows}. */
  grow(rows) {
    for (const [group, count] of Object.entries(rows)) {
      const range = this.request.ranges?.[group] ?? this.request.range;
      if (range?.startsWith("fixed:")) {
        // A new connection asks for the grown range.
        const parts = range.split(":");
        parts[1] = Math.max(0, Number(parts[1]) + count);
        this.setRanges({ [group]: parts.join(":") });
      } else {
        this.connection.send({ id: this.id, grow: { [group]: count } });
      }
    }
  }

  /** Shows other ranges of groups: {group: range or null}. */
  setRanges(ranges) {
    this.request.ranges = { ...this.request.ranges, ...ranges };
    this.connection.send({ id: this.id, ranges });
  }

  close() {
    this.connection.windows.delete(this.id);
    this.connection.send({ id: this.id, close: true });
  }

  /** Opens the window on a new connection, from the moment that it shows. */
  begin() {
    const message = { open: this.id, ...this.request };
    if (this.position && !this.isPartial) message.from = this.position;
    this.connection.send(message);
  }

  /** The section of a group; undefined if it is not shown. */
  section(group) {
    const id = keyID(group);
    return this.sections.find((section) => keyID(section.group) === id);
  }

  receive(message) {
    const start = performance.now();
    this.commit = message.commit;
    this.at = message.at;
    this.position = message.position ?? this.position;
    const change = "from" in message ? this.change(message) : this.whole(message);
    for (const [group, first, rows, sum] of message.totals ?? []) {
      this.totals.set(keyID(group), { first, rows, sum });
    }
    change.milliseconds = performance.now() - start;
    for (const listener of this.listeners) listener(change);
  }

  whole(message) {
    if (message.reset) {
      this.sections = [];
      this.rows.clear();
      this.totals.clear();
    }
    const added = [];
    for (const [group, rows] of message.sections) {
      let section = this.sections.at(-1);
      if (!section || keyID(section.group) !== keyID(group)) {
        section = { group, rows: [] };
        this.sections.push(section);
      }
      for (const part of rows) added.push(this.add(section, section.rows.length, group, ...part));
    }
    this.isPartial = message.more === true;
    return { kind: message.reset ? "reset" : "piece", reason: message.reset, added };
  }

  change(message) {
    const change = {
      kind: "change", from: message.from, removed: [], removedSections: [], placedSections: [],
      placed: [], updated: [],
    };
    const { sections, rows } = message;
    for (const [group, bucket, key] of rows?.remove ?? []) {
      const row = this.rows.get(rowID(group, bucket, key));
      this.take(row);
      change.removed.push(row);
    }
    for (const group of sections?.remove ?? []) {
      const section = this.section(group);
      this.sections.splice(this.sections.indexOf(section), 1);
      this.totals.delete(keyID(group));
      for (const row of section.rows) this.rows.delete(rowID(row.group, row.bucket, row.key));
      change.removedSections.push(section);
    }
    for (const [group, before, content] of sections?.place ?? []) {
      let section = this.section(group);
      const isNew = !section;
      if (section) this.sections.splice(this.sections.indexOf(section), 1);
      section ??= { group, rows: [] };
      const next = before === null ? undefined : this.section(before);
      this.sections.splice(next ? this.sections.indexOf(next) : this.sections.length, 0, section);
      for (const part of content ?? []) this.add(section, section.rows.length, group, ...part);
      change.placedSections.push({ section, before: next, isNew });
    }
    for (const [group, bucket, key, from, before, object] of rows?.place ?? []) {
      const section = this.section(group);
      const old = from === null ? undefined : this.rows.get(rowID(from, bucket, key));
      if (old) this.take(old);
      const next = before === null ? undefined : this.rows.get(rowID(group, ...before));
      const index = next ? section.rows.indexOf(next) : section.rows.length;
      const row = this.add(section, index, group, bucket, key, object, old);
      change.placed.push({ row, section, before: next, isNew: !old });
    }
    for (const [group, bucket, key, parts, object] of rows?.update ?? []) {
      const row = this.rows.get(rowID(group, bucket, key));
      if (object !== undefined) row.object = object;
      change.updated.push({ row, parts });
    }
    return change;
  }

  add(section, index, group, bucket, key, object, row = { object }) {
    Object.assign(row, { group, bucket, key });
    section.rows.splice(index, 0, row);
    this.rows.set(rowID(group, bucket, key), row);
    return row;
  }

  take(row) {
    const { rows } = this.section(row.group);
    rows.splice(rows.indexOf(row), 1);
    this.rows.delete(rowID(row.group, row.bucket, row.key));
  }
}

/** The lists of a window in a page: an element for each section, in it an element for each row. */
export class KeyedLists {
  /**
   * @param {Element} element the parent of the sections
   * @param {LiveWindow} window
   * @param {{section?: Function, list?: Function, row: Function, update?: Function}} make
   *   `row(row)` makes a row's element; `update(element, row)` redraws it, by default with a new
   *   one; `section(group)` makes a section's element, `list(element)` finds its list of rows.
   */
  constructor(element, window, make) {
    this.element = element;
    this.window = window;
    this.make = make;
    this.sections = new Map();
    this.rows = new Map();
    this.stop = window.listen((change) => this.apply(change));
    this.reset();
  }

  apply(change) {
    if (change.kind === "reset") return this.reset();
    if (change.kind === "piece") {
      for (const row of change.added) this.place(row, undefined);
      return undefined;
    }
    for (const row of change.removed) this.remove(row);
    for (const section of change.removedSections) {
      for (const row of section.rows) this.rows.delete(row);
      this.sections.get(section)?.remove();
      this.sections.delete(section);
    }
    for (const { section, before, isNew } of change.placedSections) {
      const element = this.sectionElement(section);
      this.element.insertBefore(element, before ? this.sectionElement(before) : null);
      // Rows that the same change removes or places later are in the list already.
      if (isNew) for (const row of section.rows) this.place(row, undefined);
    }
    for (const { row, before } of change.placed) this.place(row, before);
    for (const { row } of change.updated) this.update(row);
    return undefined;
  }

  reset() {
    this.element.replaceChildren();
    this.sections.clear();
    this.rows.clear();
    for (const section of this.window.sections) {
      this.element.insertBefore(this.sectionElement(section), null);
      for (const row of section.rows) this.place(row, undefined);
    }
  }

  sectionElement(section) {
    let element = this.sections.get(section);
    if (!element) {
      element = this.make.section
        ? this.make.section(section.group) : document.createElement("section");
      this.sections.set(section, element);
    }
    return element;
  }

  place(row, before) {
    const section = this.window.section(row.group);
    if (!this.sections.has(section)) {
      this.element.insertBefore(this.sectionElement(section), null);
    }
    const element = this.rows.get(row) ?? this.make.row(row);
    this.rows.set(row, element);
    const parent = this.sectionElement(section);
    const list = this.make.list ? this.make.list(parent) : parent;
    list.insertBefore(element, before ? this.rows.get(before) : null);
  }

  update(row) {
    const element = this.rows.get(row);
    if (this.make.update) {
      this.make.update(element, row);
      return;
    }
    const fresh = this.make.row(row);
    this.rows.set(row, fresh);
    element.replaceWith(fresh);
  }

  remove(row) {
    this.rows.get(row)?.remove();
    this.rows.delete(row);
  }
}
