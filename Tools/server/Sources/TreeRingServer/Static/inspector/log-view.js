// The commit log, newest first, by number: any part of it is a page away. A commit opens with its
// operations.

import { h, setText } from "./dom.js";
import { VirtualList } from "./virtual-list.js";
import * as format from "./format.js";

const ROW_HEIGHT = 34;
const PAGE = 200;
const MOST_PAGES = 60;

/** The log. */
export class LogView {
  constructor(page) {
    this.page = page;
    this.pages = new Map();
    this.head = h("div", { class: "head row", role: "row" },
      ["commit", "date", "operations", "bytes", "note"].map((name, index) =>
        h("div", { role: "columnheader", class: index < 1 || index === 2 || index === 3
          ? "cell number" : "cell" }, name)));
    this.grid = h("div", {
      class: "grid log", role: "grid", tabindex: "0", "aria-label": "Commits, newest first",
      onclick: (event) => this.click(event), onkeydown: (event) => this.key(event),
    }, h("div", { role: "rowgroup", class: "heads" }, this.head));
    this.total = h("span", { class: "count", "data-part": "total" });
    this.note = h("p", { class: "note", hidden: true });
    this.element = h("section", { class: "rows", "aria-label": "Commit log" },
      h("div", { class: "bar" }, h("h2", {}, "Commit log"), this.total), this.note, this.grid);
    this.active = 0;
    this.newest = page.moment.newest;
    this.list = new VirtualList(this.grid, {
      rowHeight: ROW_HEIGHT, header: this.head,
      at: (rank) => this.item(rank),
      has: () => true,
      make: () => h("div", { class: "row", role: "row" },
        ["number", "", "number", "number", ""].map((kind) =>
          h("div", { role: "gridcell", class: `cell ${kind}` }))),
      fill: (...row) => this.fill(...row),
      onrange: (first, last) => this.want(first, last),
    });
    this.stop = page.moment.listen(() => this.grow());
    this.grow();
    const commit = page.address.get("commit");
    if (commit) page.openCommit(Number(commit));
    if (!page.moment.isLive) this.list.showAtTop(this.newest - page.moment.shown - 3);
  }

  close() {
    this.stop();
    this.list.close();
  }

  get count() {
    return Math.max(0, this.newest - this.page.moment.horizon + 1);
  }

  /** Shows commits that have come: above, where the reader sees them only at the top. */
  grow() {
    const { moment } = this.page;
    const come = moment.newest - this.newest;
    this.newest = moment.newest;
    this.list.catchUp();
    if (come > 0 && this.list.scroll.top > 1) this.list.shift(come, this.count);
    this.list.setCount(this.count);
    if (come > 0) this.list.drawChange();
    this.list.refill();
    setText(this.total, format.counted(this.count, "commit"));
    this.grid.setAttribute("aria-rowcount", this.count + 1);
  }

  item(rank) {
    const number = this.newest - rank;
    const commit = this.pages.get(Math.floor(number / PAGE))?.get(number);
    return commit ? { id: `${number}`, content: commit } : null;
  }

  want(first, last) {
    const [low, high] = [this.newest - last, this.newest - first];
    for (let page = Math.floor(Math.max(0, low) / PAGE); page <= Math.floor(high / PAGE); page++) {
      this.read(page);
    }
  }

  async read(page) {
    const known = this.pages.get(page);
    // A page that the log has grown into is read again.
    const last = Math.min(page * PAGE + PAGE - 1, this.newest);
    if (known && (known.isReading || known.last >= last)) return;
    const commits = known ?? new Map();
    Object.assign(commits, { isReading: true });
    this.pages.set(page, commits);
    try {
      const from = Math.max(known?.last !== undefined ? known.last + 1 : 0, page * PAGE,
        this.page.moment.horizon);
      const answer = await this.page.api.get("/v1/commits", { from, to: last, limit: PAGE });
      for (const commit of answer.commits) commits.set(commit.commit, commit);
      commits.last = last;
      if (this.pages.size > MOST_PAGES) this.pages.delete(this.pages.keys().next().value);
      this.list.draw();
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = error.message;
      commits.last = Infinity;
    } finally {
      commits.isReading = false;
      this.list.draw();
    }
  }

  fill(element, item, rank) {
    const number = this.newest - rank;
    const commit = item?.content;
    element.id = `commit-${number}`;
    element.dataset.commit = number;
    element.setAttribute("aria-rowindex", rank + 2);
    element.classList.toggle("waiting", !commit);
    element.classList.toggle("shown", number === this.page.moment.shown);
    const isFocused = document.activeElement === this.grid;
    element.classList.toggle("active", rank === this.active && isFocused);
    const texts = [
      format.count(number), commit ? format.moment(commit.at) : "",
      commit ? format.count(commit.operations) : "", commit ? format.bytes(commit.bytes) : "",
      [...(commit?.tags ?? []).map((tag) => `tag:${tag}`), commit?.note]
        .filter(Boolean).join(" · "),
    ];
    texts.forEach((text, index) => setText(element.children[index], text));
  }

  click(event) {
    const element = event.target.closest("[data-commit]");
    if (!element) return;
    this.active = this.newest - Number(element.dataset.commit);
    this.page.openCommit(Number(element.dataset.commit));
    this.list.refill();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.scroll.viewport / ROW_HEIGHT) - 1);
    const target = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.count - 1,
    }[event.key];
    if (event.key === "Enter") this.page.openCommit(this.newest - this.active);
    else if (target === undefined) return;
    else {
      this.active = Math.max(0, Math.min(target, this.count - 1));
      this.list.reveal(this.active);
      this.grid.setAttribute("aria-activedescendant", `commit-${this.newest - this.active}`);
      this.list.refill();
    }
    event.preventDefault();
  }
}
