// The rows of one group of an index: live, by rank, with the columns that the reader chose.

import { h, setText } from "./dom.js";
import { field } from "./fields.js";
import { Columns } from "./columns.js";
import { RowWindow } from "./row-window.js";
import { VirtualList, flash } from "./virtual-list.js";
import * as format from "./format.js";

const ROW_HEIGHT = 34;

/** The grid of a group's rows. */
export class RowsView {
  /**
   * @param {object} page the page's parts: connection, moment, address, meter, openRow
   * @param {object} index the index as the server describes it
   * @param {any} group
   */
  constructor(page, index, group) {
    this.page = page;
    this.group = group;
    const chosen = page.address.get("columns");
    this.columns = new Columns(index.order ?? [], chosen ? chosen.split(",") : null);
    this.columns.learn([]);
    this.title = h("h2", {}, format.key(group));
    this.total = h("span", { class: "count", "data-part": "total" });
    this.menu = h("details", { class: "chooser" }, h("summary", {}, "Columns"));
    this.menu.addEventListener("toggle", () => this.openMenu());
    this.head = h("div", { class: "head row", role: "row", "aria-rowindex": "1" });
    this.note = h("p", { class: "note", hidden: true });
    this.grid = h("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": `Rows of ${format.key(group)}`,
      onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
    }, h("div", { role: "rowgroup", class: "heads" }, this.head));
    this.element = h("section", { class: "rows", "aria-label": "Rows" },
      h("div", { class: "bar" }, this.title, this.total, this.menu), this.note, this.grid);
    this.active = Number(page.address.get("top") ?? 0);
    const top = this.active;
    this.source = new RowWindow(page.connection, page.moment, { index: index.index, group, top }, {
      onchange: (change, isScroll) => this.change(change, isScroll),
      onerror: (error) => this.fail(error),
    });
    this.list = new VirtualList(this.grid, {
      rowHeight: ROW_HEIGHT, header: this.head,
      at: (rank) => this.item(rank),
      has: (id) => this.source.has(id),
      make: () => h("div", { class: "row", role: "row" }),
      fill: (...row) => this.fill(...row),
      onrange: (first, last) => this.source.want(first, last),
      ondraw: (first) => this.drawn(first),
      chosen: () => this.active,
    });
    this.top = top;
    this.drawHead();
    requestAnimationFrame(() => {
      this.columns.room = this.grid.clientWidth;
    });
  }

  close() {
    this.source.close();
    this.list.close();
  }

  item(rank) {
    const row = this.source.at(rank);
    return row && { id: this.source.id(row), row, content: row.object };
  }

  // MARK: Changes

  change(change, isScroll) {
    const { source, list } = this;
    list.catchUp();
    this.note.hidden = source.total > 0;
    if (source.total === 0) setText(this.note, "No row of this group at the moment shown.");
    if (this.columns.learn(change.added ?? [...change.placed, ...change.updated.map((u) => u.row)]
      .map((part) => part.row ?? part))) this.drawHead();
    setText(this.total, format.counted(source.total, "row"));
    this.grid.setAttribute("aria-rowcount", source.total + 1);
    if (change.kind === "change") this.keepView();
    const isAtEnd = list.scroll.isAtEnd && this.page.moment.isLive;
    if (list.scroll.total !== source.total) list.setCount(source.total);
    if (isAtEnd) list.showAtTop(source.total);
    if (this.top !== null) {
      list.showAtTop(this.top);
      this.top = null;
    }
    if (!isScroll && change.kind === "change") {
      const came = change.placed.filter((part) => part.isNew);
      list.drawChange(new Set(came.map((part) => source.id(part.row))), this.isCalm(change));
    } else {
      list.draw();
    }
    if (!isScroll || change.from !== source.window.commit) {
      this.page.meter.show(change, source.window);
    }
  }

  /** Whether a change is small and apart enough from the last one for the eye to follow it. */
  isCalm(change) {
    const now = performance.now();
    this.pace = (this.pace ?? 0) * Math.exp(-(now - (this.changedAt ?? 0)) / 1000) + 1;
    this.changedAt = now;
    return change.placed.length + change.removed.length <= 60 && this.pace < 14;
  }

  /** Keeps the rows in view where they are, if rows came or went above them. */
  keepView() {
    const { list, source } = this;
    if (list.scroll.top < 1) return;
    const shifts = [];
    for (const [id, entry] of list.shown) {
      const rank = id.startsWith("#") ? undefined : source.rank(id);
      if (rank !== undefined) shifts.push(rank - entry.rank);
    }
    if (shifts.length === 0) return;
    const shift = shifts.sort((a, b) => a - b)[shifts.length >> 1];
    if (shift === 0) return;
    list.shift(shift, source.total);
    this.active += shift;
  }

  fail(error) {
    this.note.hidden = false;
    this.note.textContent = error.message;
  }

  // MARK: Drawing

  drawHead() {
    const { columns } = this;
    // A link shows these columns, whatever rows its reader sees first.
    if (columns.isSure) {
      this.page.address.set({ columns: columns.shown.map((column) => column.name).join(",") });
    }
    columns.layOut(this.grid);
    this.head.replaceChildren(...columns.shown.map((column, index) => {
      const isOrder = columns.order.has(column.name);
      const descends = columns.order.get(column.name);
      return h("div", {
        role: "columnheader", class: `cell ${column.kind}`, "aria-colindex": index + 1,
        "aria-sort": isOrder ? (descends ? "descending" : "ascending") : null,
        title: isOrder ? "A field of the index's order" : null,
      }, column.name, isOrder ? h("span", { class: "arrow", "aria-hidden": "true" },
        descends ? "↓" : "↑") : null);
    }));
    this.list?.refill();
  }

  fill(element, item, rank, animates) {
    const { columns } = this;
    element.setAttribute("aria-rowindex", rank + 2);
    element.id = `row-${rank}`;
    element.classList.toggle("waiting", !item);
    element.classList.toggle("active", rank === this.active && this.isFocused);
    element.dataset.rank = rank;
    while (element.childElementCount > columns.shown.length) element.lastChild.remove();
    columns.shown.forEach((column, index) => {
      let cell = element.children[index];
      if (!cell) {
        cell = h("div", { role: "gridcell" });
        element.append(cell);
      }
      const content = !item ? undefined
        : column.name === "key" ? item.row.key : field(item.row.object, column.name);
      const text = item ? format.value(content) : "";
      cell.className = `cell ${column.kind}`;
      if (cell.textContent === text) return;
      const isOther = animates && element.dataset.row === item?.id;
      cell.textContent = text;
      cell.title = typeof content === "string" && content !== text ? content : "";
      if (column.kind === "kind") cell.style.setProperty("--hue", format.hue(text));
      if (isOther) flash(cell, "--changed");
    });
    element.dataset.row = item?.id ?? "";
  }

  drawn(first) {
    const at = first > 0 ? first : null;
    if (this.shownTop === at) return;
    this.shownTop = at;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.page.address.set({ top: at }), 300);
  }

  openMenu() {
    if (!this.menu.open) return;
    this.menu.querySelector(".menu")?.remove();
    this.menu.append(this.columns.menu((names) => {
      this.columns.choose(names);
      this.drawHead();
      if (!names) this.openMenu();
    }));
  }

  // MARK: The reader

  get isFocused() {
    return document.activeElement === this.grid;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.scroll.viewport / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const last = this.source.total - 1;
    if (event.key in steps) this.activate(this.active + steps[event.key]);
    else if (event.key === "Home") this.activate(0);
    else if (event.key === "End") this.activate(last);
    else if (event.key === "Enter" || event.key === " ") this.open(this.active);
    else return;
    event.preventDefault();
  }

  activate(rank) {
    this.active = Math.max(0, Math.min(rank, this.source.total - 1));
    this.list.reveal(this.active);
    this.grid.setAttribute("aria-activedescendant", `row-${this.active}`);
    this.list.refill();
  }

  click(event) {
    const element = event.target.closest(".row[data-rank]");
    if (!element) return;
    this.active = Number(element.dataset.rank);
    this.open(this.active);
    this.list.refill();
  }

  open(rank) {
    const row = this.source.at(rank);
    if (row) this.page.openRow(row.bucket, row.key);
  }
}
