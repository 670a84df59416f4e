// Statistics of the store: sizes, the pace of commits, and who keeps history readable.

import { h } from "./dom.js";
import { bar, line } from "./plot.js";
import * as format from "./format.js";

const INTERVAL = 1000;
const MOST = 120;

/** The view of statistics. It asks once a second while it is shown. */
export class StatsView {
  constructor(page) {
    this.page = page;
    this.samples = [];
    this.cards = h("div", { class: "cards" });
    this.element = h("section", { class: "page stats", "aria-label": "Statistics" },
      h("h2", {}, "Statistics"), this.cards);
    this.read();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  async read() {
    try {
      const statistics = await this.page.api.get("/v1/stats");
      if (this.isClosed) return;
      this.samples.push({ time: performance.now(), ...statistics });
      if (this.samples.length > MOST) this.samples.shift();
      this.show(statistics);
    } catch (error) {
      this.cards.replaceChildren(h("p", { class: "note" }, error.message));
    }
    if (!this.isClosed) this.timer = setTimeout(() => this.read(), INTERVAL);
  }

  /** The difference of a counter a second, over the samples. */
  rates(name) {
    const rates = [];
    for (let index = 1; index < this.samples.length; index++) {
      const [before, after] = [this.samples[index - 1], this.samples[index]];
      rates.push(((after[name] - before[name]) * 1000) / (after.time - before.time));
    }
    return rates.length > 0 ? rates : [0];
  }

  show(now) {
    const rates = this.rates("commits");
    const pace = rates.at(-1);
    const history = (name) => this.samples.map((sample) => sample[name]);
    this.cards.replaceChildren(
      card("Commits a second", pace < 10 ? pace.toFixed(1) : format.count(Math.round(pace)),
        line(rates, "Commits a second over the last two minutes"),
        pairs([["commits", format.count(now.commits)],
          ["oldest readable", format.count(now.horizon)]])),
      card("Rows", format.count(now.rows), line(history("rows"), "Rows over the last two minutes"),
        pairs([["graves of deleted rows", format.count(now.graves)],
          ["rows in change records", format.count(now.changeRecordRows)]])),
      card("Disk", format.bytes(now.logBytes + now.pageFileBytes),
        bar([["log", now.logBytes], ["page file", now.pageFileBytes]], format.bytes),
        pairs([["segments", format.count(now.segments)],
          ["compression", `${now.compressionRatio} ×`],
          ["history that could go", format.bytes(now.reclaimableBytes)]])),
      card("Memory", format.bytes(now.pageMemoryBytes),
        line(history("pageMemoryBytes"), "Memory of pages over the last two minutes"),
        pairs([["budget", format.bytes(now.memoryBudget)],
          ["pages not written yet", format.count(now.dirtyPages)],
          ["fill of leaves", `${Math.round(now.pageFill * 100)} %`]])),
      card("Time travel", format.counted(now.retainedRoots, "earlier state"),
        pairs([["pages only they keep", format.count(now.retainedPages)],
          ["widest replay", format.counted(now.widestReplay, "operation")],
          ["pages that readers pin", format.count(now.pinnedPages)]])),
      this.holders(now));
  }

  holders({ held, pins, commits }) {
    const rows = held.map(({ kind, commit, what }) => h("tr", {},
      h("td", {}, h("span", { class: `pill pill-${kind}` }, kind)), h("td", {}, what),
      h("td", { class: "number" }, format.count(commit)),
      h("td", { class: "number" }, format.count(Math.max(0, commits - commit)))));
    return h("section", { class: "card wide" }, h("h3", {}, "Who holds history"),
      h("p", { class: "figure" }, format.counted(pins, "pin")),
      h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "kind"), h("th", {}, "holder"),
        h("th", { class: "number" }, "commit"), h("th", { class: "number" }, "commits behind"))),
      h("tbody", {}, rows)));
  }
}

function card(name, figure, ...content) {
  return h("section", { class: "card" }, h("h3", {}, name), h("p", { class: "figure" }, figure),
    content);
}

function pairs(list) {
  return h("dl", {}, list.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
