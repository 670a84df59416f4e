// The difference between any two moments: the rows that came, went and changed, field by field.

import { h, setText } from "./dom.js";
import { Latest } from "./api.js";
import { fieldTable } from "./row-panel.js";
import * as format from "./format.js";

const MOST = 500;

/** The view that compares two moments. */
export class CompareView {
  constructor(page) {
    this.page = page;
    this.latest = new Latest();
    const { moment, address } = page;
    const shown = moment.shown;
    this.from = this.input("from", address.get("from") ?? Math.max(moment.horizon, shown - 100));
    this.to = this.input("to", address.get("to") ?? (moment.isLive ? "now" : shown));
    this.bucket = h("select", { "aria-label": "Bucket" }, h("option", { value: "" }, "all buckets"),
      page.store.buckets.map(({ bucket }) => h("option", {
        value: bucket, selected: bucket === address.get("bucket"),
      }, bucket)));
    this.summary = h("p", { class: "summary", role: "status" });
    this.list = h("ol", { class: "versions differences" });
    this.more = h("button", {
      type: "button", class: "quiet", hidden: true, onclick: () => this.read(this.next),
    }, "More differences");
    this.element = h("section", { class: "page compare", "aria-label": "Difference" },
      h("h2", {}, "Difference between two moments"),
      h("form", {
        class: "bar", onsubmit: (event) => {
          event.preventDefault();
          this.compare();
        },
      }, h("label", {}, "From", this.from, this.here(this.from)),
      h("label", {}, "to", this.to, this.here(this.to)), this.bucket,
      h("button", { type: "submit" }, "Compare"),
      h("button", {
        type: "button", class: "quiet", title: "Exchange the two moments",
        onclick: () => {
          [this.from.value, this.to.value] = [this.to.value, this.from.value];
          this.compare();
        },
      }, "⇄ Swap")), this.summary, this.list, this.more);
    this.compare();
  }

  close() {
    this.latest.controller?.abort();
  }

  input(label, value) {
    return h("input", {
      type: "text", size: 16, value, "aria-label": `Moment ${label}`, spellcheck: "false",
      title: "A commit, a date, tag:NAME, -K, or now",
    });
  }

  /** A button that takes the slider's moment. */
  here(input) {
    return h("button", {
      type: "button", class: "quiet", title: "Take the slider's moment",
      onclick: () => {
        input.value = this.page.moment.shown;
        this.compare();
      },
    }, "◆");
  }

  async compare() {
    this.page.address.set({
      from: this.from.value, to: this.to.value, bucket: this.bucket.value || null,
    });
    setText(this.summary, "Comparing …");
    await this.read(null);
  }

  /** Reads the differences from a row on; null for the first ones. */
  async read(start) {
    const point = (input) => (["", "now"].includes(input.value.trim()) ? "-0" : input.value.trim());
    // Further pages are of the same commits, wherever the newest is by then.
    const request = start === null
      ? { from: point(this.from), to: point(this.to), bucket: this.bucket.value } : this.request;
    const begin = performance.now();
    try {
      const answer = await this.latest.run((signal) => this.page.api.get("/v1/diff", {
        ...request, limit: MOST, start,
      }, signal));
      if (!answer) return;
      this.request = { ...request, from: answer.from, to: answer.to };
      this.show(answer, start === null, performance.now() - begin);
    } catch (error) {
      setText(this.summary, error.message);
      this.list.replaceChildren();
      this.more.hidden = true;
    }
  }

  show({ from, to, differences, next }, isFirst, time) {
    if (isFirst) {
      this.list.replaceChildren();
      this.kinds = new Map();
    }
    this.next = next;
    this.more.hidden = next === null;
    const { kinds } = this;
    for (const { kind } of differences) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const words = { insert: "inserted", update: "changed", delete: "deleted" };
    const parts = [...kinds].map(([kind, number]) =>
      `${format.count(number)} ${words[kind] ?? kind}`);
    setText(this.summary, `Commit ${format.count(from)} to ${format.count(to)}: `
      + (kinds.size === 0 ? "no row differs" : parts.join(", "))
      + (next === null ? "" : ", and more below") + ` · ${format.milliseconds(time)}`);
    this.list.append(...differences.map(({ bucket, key, kind, before, after }) =>
      h("li", { class: "version" },
        h("div", { class: "when" }, h("span", { class: `pill pill-${kind}` }, kind),
          h("button", {
            type: "button", class: "go", title: "Show the row's history",
            onclick: () => this.page.openRow(bucket, key),
          }, format.key(key)), h("span", { class: "count" }, bucket)),
        fieldTable(before, after))));
  }
}
