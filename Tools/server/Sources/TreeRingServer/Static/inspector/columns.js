// The columns of a list of rows: the fields that its objects have, those of the index's order
// first. Widths and alignments come from the values seen; a reader may choose the columns.

import { h } from "./dom.js";
import { fields } from "./fields.js";
import * as format from "./format.js";

const COLUMN_WIDTH = 125;
const CHARACTER = 8.2;
const PADDING = 18;
/** Rows from which the usual columns are fixed. */
const SURE = 20;

/** The columns of a list. */
export class Columns {
  /**
   * @param {string[]} order the fields of the index's order
   * @param {string[] | null} chosen the reader's choice; null for the usual columns
   */
  constructor(order, chosen) {
    /** The index's order: name → whether it descends. */
    this.order = new Map(order.map((text) =>
      (text.startsWith("-") ? [text.slice(1), true] : [text, false])));
    this.chosen = chosen;
    /** The pixels that the columns have. */
    this.room = 1000;
    this.count = 0;
    this.seen = new Map([["key", new Column("key")]]);
    for (const name of this.order.keys()) this.seen.set(name, new Column(name));
  }

  /** Learns fields and widths. Returns whether the columns shown are others now. */
  learn(rows) {
    const before = this.signature;
    for (const { key, object } of rows) {
      this.count += 1;
      this.seen.get("key").learn(key);
      for (const [name, value] of fields(object ?? {})) {
        if (!this.seen.has(name)) this.seen.set(name, new Column(name));
        this.seen.get(name).learn(value);
      }
    }
    if (!this.isSure) this.usual = this.findUsual();
    this.isSure = this.count >= SURE;
    this.shown = this.chosen
      ? this.chosen.map((name) => this.seen.get(name)).filter((column) => column) : this.usual;
    this.signature = this.shown.map((column) => `${column.name} ${column.kind}`).join("\n")
      + this.template;
    return this.signature !== before;
  }

  /** Shows the columns that a reader chose; null for the usual ones. */
  choose(names) {
    this.chosen = names;
    this.isSure = false;
    this.learn([]);
  }

  /** The usual columns: those of the order first, then the ones that tell rows apart best. */
  findUsual() {
    const most = Math.min(12, Math.max(3, Math.floor(this.room / COLUMN_WIDTH)));
    const all = [...this.seen.values()].filter((column) => column.name !== "key");
    if (all.length < 2) return [this.seen.get("key"), ...all];
    const value = (column) => (this.order.has(column.name) ? 9 : column.interest);
    const best = new Set([...all].sort((a, b) => value(b) - value(a)).slice(0, most));
    return all.filter((column) => best.has(column));
  }

  /** The widths as a template of a grid. */
  get template() {
    return this.shown.map(({ pixels }) => `minmax(${pixels}px, ${pixels}fr)`).join(" ");
  }

  /** Lays a grid out; a first column of so many pixels stands before the others. */
  layOut(grid, first = 0) {
    const before = first > 0 ? `minmax(${first}px, ${first}fr) ` : "";
    grid.style.setProperty("--columns", before + this.template);
    const least = this.shown.reduce((sum, { pixels }) => sum + pixels, first) + 2 * PADDING;
    grid.style.setProperty("--least", `${least}px`);
  }

  /** The list of check boxes; `onchoose` gets the names, or null for the usual columns. */
  menu(onchoose) {
    const shown = new Set(this.shown.map((column) => column.name));
    const boxes = [...this.seen.values()].map((column) => h("label", {},
      h("input", { type: "checkbox", value: column.name, checked: shown.has(column.name) }),
      column.name));
    const list = h("div", {
      class: "boxes",
      onchange: () => {
        const names = [...list.querySelectorAll("input")].filter((box) => box.checked)
          .map((box) => box.value);
        if (names.length > 0) onchoose(names);
      },
    }, boxes);
    return h("div", { class: "menu", role: "group", "aria-label": "Columns shown" }, list,
      h("button", {
        type: "button", class: "quiet", onclick: () => onchoose(null),
      }, "Usual columns"));
  }
}

/** One column, and what its values look like. */
class Column {
  constructor(name) {
    this.name = name;
    this.width = 0;
    this.count = 0;
    this.numbers = 0;
    this.dates = 0;
    this.values = new Set();
  }

  learn(value) {
    if (value === undefined || value === null) return;
    this.count += 1;
    if (typeof value === "number") this.numbers += 1;
    if (format.isDate(value)) this.dates += 1;
    this.width = Math.max(this.width, Math.min(format.value(value).length, 24) + 1);
    if (this.values.size <= 7) this.values.add(value);
  }

  /** The least width. */
  get pixels() {
    const letters = Math.min(Math.max(this.width, this.name.length + 1, 4), 26);
    return Math.round(letters * CHARACTER + PADDING + (this.kind === "kind" ? 15 : 0));
  }

  /** How well the column tells rows apart, for the choice of the usual columns. */
  get interest() {
    if (this.count === 0) return -1;
    if (this.values.size === 1 && this.count >= 12) return 0;
    return { kind: 4, number: 3, date: 2, text: 2 }[this.kind];
  }

  /** "number", "date", "kind" for texts of which there are few, or "text". */
  get kind() {
    if (this.count === 0) return "text";
    if (this.numbers === this.count) return "number";
    if (this.dates === this.count) return "date";
    const isKind = this.count >= 12 && this.values.size <= 6
      && [...this.values].every((value) => typeof value === "string" && value.length <= 16);
    return isKind && this.values.size > 1 ? "kind" : "text";
  }
}
