// The buckets, and the rows of one in key order at the moment shown, page by page.

import { h, setText, throttled } from "./dom.js";
import { Latest, path } from "./api.js";
import { keyID } from "/treering.js";
import { Columns } from "./columns.js";
import { field } from "./fields.js";
import { VirtualList } from "./virtual-list.js";
import * as format from "./format.js";

const ROW_HEIGHT = 34;
const PAGE = 200;

/** The view of the buckets. */
export class BucketsView {
  constructor(page) {
    this.page = page;
    this.latest = new Latest();
    this.more = new Latest();
    this.rows = [];
    this.next = null;
    this.menu = h("ul", { class: "bucket-list" });
    this.prefix = h("input", {
      type: "search", placeholder: "Keys that begin with …", "aria-label": "Keys that begin with",
      value: page.address.get("prefix") ?? "",
      oninput: () => {
        page.address.set({ prefix: this.prefix.value || null });
        this.reload();
      },
    });
    this.title = h("h2", {}, "Buckets");
    this.total = h("span", { class: "count", "data-part": "total" });
    this.note = h("p", { class: "note", hidden: true });
    this.head = h("div", { class: "head row", role: "row" });
    this.grid = h("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": "Rows of the bucket",
      onclick: (event) => {
        const row = this.rows[Number(event.target.closest("[data-rank]")?.dataset.rank)];
        if (row) page.openRow(row.bucket, row.key);
      },
      onkeydown: (event) => this.key(event),
    }, h("div", { role: "rowgroup", class: "heads" }, this.head));
    this.element = h("div", { class: "index-view" },
      h("div", { class: "side" },
        h("section", { class: "groups", "aria-label": "Buckets" },
          h("div", { class: "bar" }, h("h2", {}, "Buckets")), this.menu)),
      h("section", { class: "rows", "aria-label": "Rows of the bucket" },
        h("div", { class: "bar" }, this.title, this.total, this.prefix), this.note, this.grid));
    this.active = 0;
    this.columns = new Columns([], null);
    this.columns.learn([]);
    this.list = new VirtualList(this.grid, {
      rowHeight: ROW_HEIGHT, header: this.head,
      at: (rank) => this.rows[rank] && {
        id: keyID(this.rows[rank].key), row: this.rows[rank], content: this.rows[rank].object,
      },
      has: (id) => this.rows.some((row) => keyID(row.key) === id),
      make: () => h("div", { class: "row", role: "row" }),
      fill: (...row) => this.fill(...row),
      onrange: (first, last) => {
        if (last >= this.rows.length - 20) this.readMore();
      },
    });
    const again = throttled(500, () => this.reload());
    this.stop = page.moment.listen((reason) => {
      if (reason === "moved") this.reload();
      else if (page.moment.isLive) again();
    });
    this.reload();
  }

  close() {
    this.stop();
    this.list.close();
    this.isClosed = true;
  }

  get bucket() {
    const name = this.page.address.get("bucket");
    return this.buckets?.find((bucket) => bucket.bucket === name) ?? this.buckets?.[0];
  }

  /** Reads the buckets and the first page again; the rows already read stay until it is there. */
  async reload() {
    if (this.isClosed) return;
    const { api, moment } = this.page;
    try {
      const found = await this.latest.run(async (signal) => {
        const store = await api.get("/v1/store", { at: moment.at }, signal);
        this.buckets = store.buckets;
        if (!this.bucket) return { store, rows: [], next: null };
        const count = Math.max(PAGE, Math.min(this.rows.length, 1000));
        const answer = await api.get(path`/v1/buckets/${this.bucket.bucket}/rows`, {
          prefix: this.prefix.value, limit: count, at: store.commit,
        }, signal);
        return { store, rows: answer.rows, next: answer.next };
      });
      if (found === undefined) return;
      this.commit = found.store.commit;
      this.rows = found.rows;
      this.next = found.next;
      const isFirst = this.list.shown.size === 0;
      this.show();
      if (!isFirst) this.list.drawChange();
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = error.message;
    }
  }

  async readMore() {
    if (this.next === null || this.isReading) return;
    this.isReading = true;
    try {
      const { bucket } = this.bucket;
      const commit = this.commit;
      const answer = await this.page.api.get(path`/v1/buckets/${bucket}/rows`, {
        prefix: this.prefix.value, from: keyID(this.next), limit: PAGE, at: commit,
      });
      if (commit !== this.commit || bucket !== this.bucket?.bucket) return;
      this.rows.push(...answer.rows);
      this.next = answer.next;
      this.show();
    } catch (error) {
      this.page.fail(error);
    } finally {
      this.isReading = false;
    }
  }

  show() {
    this.note.hidden = true;
    const { bucket } = this;
    this.menu.replaceChildren(...this.buckets.map(({ bucket: name, rows }) => h("li", {},
      h("button", {
        type: "button", class: "group", "aria-pressed": name === bucket?.bucket,
        onclick: () => {
          this.page.address.set({ bucket: name, prefix: null });
          this.prefix.value = "";
          this.rows = [];
          this.columns = new Columns([], null);
          this.reload();
        },
      }, h("span", {}, name), h("span", { class: "count" }, format.count(rows))))));
    setText(this.title, bucket?.bucket ?? "No bucket");
    setText(this.total, bucket ? format.counted(bucket.rows, "row") : "");
    if (this.columns.learn(this.rows) || !this.head.hasChildNodes()) {
      this.columns.layOut(this.grid, 200);
      this.head.replaceChildren(
        h("div", { role: "columnheader", class: "cell" }, "key"),
        ...this.columns.shown.map((column) => h("div", {
          role: "columnheader", class: `cell ${column.kind}`,
        }, column.name)));
      this.list.refill();
    }
    this.grid.setAttribute("aria-rowcount", (bucket?.rows ?? 0) + 1);
    this.list.setCount(this.rows.length);
  }

  fill(element, item, rank) {
    if (!item) return;
    const cells = [[undefined, item.row.key], ...this.columns.shown.map((column) =>
      [column, column.name === "key" ? item.row.key : field(item.row.object, column.name)])];
    while (element.childElementCount > cells.length) element.lastChild.remove();
    cells.forEach(([column, content], index) => {
      const cell = element.children[index] ?? element.appendChild(h("div", { role: "gridcell" }));
      const text = index === 0 ? format.key(content) : format.value(content);
      cell.className = `cell ${column?.kind ?? "key"}`;
      setText(cell, text);
      if (column?.kind === "kind") cell.style.setProperty("--hue", format.hue(text));
    });
    element.id = `bucket-row-${rank}`;
    element.dataset.rank = rank;
    element.setAttribute("aria-rowindex", rank + 2);
    const isFocused = document.activeElement === this.grid;
    element.classList.toggle("active", rank === this.active && isFocused);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.scroll.viewport / ROW_HEIGHT) - 1);
    const target = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.rows.length - 1,
    }[event.key];
    const row = this.rows[this.active];
    if (event.key === "Enter" && row) this.page.openRow(row.bucket, row.key);
    else if (target === undefined) return;
    else {
      this.active = Math.max(0, Math.min(target, this.rows.length - 1));
      this.list.reveal(this.active);
      this.grid.setAttribute("aria-activedescendant", `bucket-row-${this.active}`);
      this.list.refill();
    }
    event.preventDefault();
  }
}
