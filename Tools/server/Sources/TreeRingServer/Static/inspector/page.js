// The page: its parts, the view shown, and the panel beside it. The address decides both.

import { LiveConnection } from "/treering.js";
import { h, setText, throttled } from "./dom.js";
import { BucketsView } from "./buckets-view.js";
import { CompareView } from "./compare-view.js";
import { IndexView } from "./index-view.js";
import { LogView } from "./log-view.js";
import { Meter } from "./meter.js";
import { parse } from "./json.js";
import { Moment } from "./moment.js";
import { StatsView } from "./stats-view.js";
import { Timeline } from "./timeline.js";
import { commitPanel } from "./commit-panel.js";
import { RowHistory, rowPanel } from "./row-panel.js";

const VIEWS = [
  ["index", "Indexes", IndexView], ["log", "Log", LogView], ["buckets", "Buckets", BucketsView],
  ["compare", "Compare", CompareView], ["stats", "Stats", StatsView],
];
const PING = 300;

/** The page of one store. */
export class Page {
  constructor(api, address, store) {
    this.api = api;
    this.address = address;
    this.store = store;
    const at = address.get("at");
    this.moment = new Moment(at && /^\d+$/.test(at) ? Number(at) : null);
    this.moment.horizon = store.horizon;
    this.moment.newest = store.commit;
    this.state = document.getElementById("connection");
    this.main = document.getElementById("main");
    this.panel = document.getElementById("panel");
    this.meter = new Meter(document.getElementById("meter"));
    this.connection = new LiveConnection(
      `${location.origin.replace(/^http/, "ws")}/v1/live`, {
        token: api.token, pingInterval: PING, parse,
        onstate: (state) => this.connected(state),
        oncommit: (commit) => this.moment.note(commit),
        onerror: (error) => this.fail(error),
      });
    this.timeline = new Timeline(document.getElementById("timeline"), this);
    this.refreshStore = throttled(3000, () => this.readStore());
    this.redrawPanel = throttled(500, () => this.panelAgain?.());
    this.moment.listen((reason) => {
      if (reason === "newest") this.refreshStore();
      if (this.panelKind === "row") this.redrawPanel();
    });
    address.listen(() => this.readdress());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.panel.hidden) this.closePanel();
    });
    this.show();
    this.timeline.sample();
    this.timeline.draw();
    this.restorePanel();
  }

  // MARK: Views

  /** Shows the view that the address names. */
  show() {
    const name = this.address.get("view") ?? "index";
    const [known, , View] = VIEWS.find(([view]) => view === name) ?? VIEWS[0];
    this.view?.close();
    this.view = new View(this);
    this.main.replaceChildren(this.view.element);
    document.getElementById("views").replaceChildren(...VIEWS.map(([view, text]) => h("li", {},
      h("a", {
        href: `#${new URLSearchParams({ view })}`, "aria-current": view === known ? "page" : null,
        onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.go({ view });
        },
      }, text))));
    document.title = `${VIEWS.find(([view]) => view === known)[1]} · TreeRing`;
  }

  /** Goes to another view, with parts of its state. */
  go(parts) {
    this.closePanel();
    this.address.set({ top: null, commit: null, ...parts }, true);
    this.show();
  }

  /** Shows what another address says: the reader went back, or pasted one. */
  readdress() {
    const at = this.address.get("at");
    if (at && /^\d+$/.test(at)) this.moment.seek(Number(at));
    else this.moment.follow();
    this.closePanel(false);
    this.show();
    this.restorePanel();
  }

  // MARK: The panel

  /** Shows the history of a row. */
  openRow(bucket, key) {
    this.address.set({ row: JSON.stringify([bucket, key]), commit: null });
    const history = new RowHistory(this.api, bucket, key);
    this.open("row", () => rowPanel(this, history));
  }

  /** Shows a commit with its operations. */
  openCommit(number) {
    this.address.set({ commit: number, row: null });
    this.open("commit", () => commitPanel(this, number));
  }

  restorePanel() {
    const row = this.address.get("row");
    if (row) {
      try {
        this.openRow(...JSON.parse(row));
      } catch {
        this.address.set({ row: null });
      }
    }
  }

  async open(kind, make) {
    const isNew = this.panel.hidden || this.panelKind !== kind;
    this.opener ??= document.activeElement;
    this.panelKind = kind;
    this.panelAgain = async () => {
      const again = this.panelAgain;
      try {
        const content = await make();
        if (again === this.panelAgain) this.fillPanel(content);
      } catch (error) {
        if (again === this.panelAgain) this.fillPanel([h("p", { class: "note" }, error.message)]);
      }
    };
    this.panel.hidden = false;
    document.body.classList.add("with-panel");
    await this.panelAgain();
    this.panel.querySelector(".version.now")?.scrollIntoView({ block: "nearest" });
    const isPhone = matchMedia("(max-width: 640px)").matches;
    if (isNew && isPhone) this.panel.querySelector("button")?.focus();
  }

  fillPanel(parts) {
    const content = parts.filter((part) => part !== null);
    // The same content stays, with what the reader has unfolded and focused.
    const text = content.map((part) => part.outerHTML).join("");
    if (text === this.panelText && this.panel.hasChildNodes()) return;
    this.panelText = text;
    const top = this.panel.scrollTop;
    this.panel.replaceChildren(h("button", {
      type: "button", class: "close", "aria-label": "Close the details",
      onclick: () => this.closePanel(),
    }, "✕"), ...content);
    this.panel.scrollTop = top;
  }

  closePanel(forgets = true) {
    this.panel.hidden = true;
    this.panel.replaceChildren();
    this.panelAgain = null;
    this.panelKind = null;
    document.body.classList.remove("with-panel");
    if (forgets) this.address.set({ row: null, commit: null });
    this.opener?.focus?.();
    this.opener = null;
  }

  // MARK: The store

  async readStore() {
    try {
      this.store = await this.api.get("/v1/store");
      this.moment.horizon = this.store.horizon;
      this.moment.note(this.store.commit);
      this.timeline.drawTags();
    } catch (error) {
      this.fail(error);
    }
  }

  connected(state) {
    const isOpen = state === "open";
    if (!isOpen) this.moment.resend();
    this.state.classList.toggle("lost", !isOpen);
    setText(this.state, isOpen ? `store ${this.store.id.slice(0, 8)}` : "Reconnecting …");
  }

  /** Shows a failure for some seconds. */
  fail(error) {
    this.say(error.message ?? String(error));
  }

  /** Shows a sentence for some seconds. */
  say(sentence) {
    document.querySelector(".toast")?.remove();
    const toast = h("p", { class: "toast", role: "alert" }, sentence);
    document.body.append(toast);
    setTimeout(() => toast.remove(), 6000);
  }
}
