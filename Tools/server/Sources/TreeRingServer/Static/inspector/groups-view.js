// The list of an index's groups beside the rows. Choosing one shows its rows.

import { h, setText } from "./dom.js";
import { GroupWindow } from "./group-window.js";
import { VirtualList } from "./virtual-list.js";
import * as format from "./format.js";

const ROW_HEIGHT = 32;

/** The list of groups. */
export class GroupsView {
  constructor(page, index, { chosen, onchoose }) {
    this.chosen = chosen;
    this.onchoose = onchoose;
    this.filter = "";
    this.scroller = h("div", {
      class: "groups-list", role: "listbox", tabindex: "0", "aria-label": "Groups",
      onkeydown: (event) => this.key(event),
      onclick: (event) => {
        const element = event.target.closest("[data-rank]");
        if (element) this.choose(Number(element.dataset.rank));
      },
    });
    this.search = h("input", {
      type: "search", placeholder: "Find a group", "aria-label": "Find a group", hidden: true,
      oninput: () => {
        this.filter = this.search.value.toLowerCase();
        this.refresh(false);
      },
    });
    this.count = h("span", { class: "count" });
    this.element = h("section", { class: "groups", "aria-label": "Groups of the index" },
      h("div", { class: "bar" }, h("h2", {}, "Groups"), this.count), this.search, this.scroller);
    this.groups = [];
    this.list = new VirtualList(this.scroller, {
      rowHeight: ROW_HEIGHT, role: "presentation",
      at: (rank) => {
        const group = this.groups[rank];
        return group && { id: group.id, group, content: group.rows };
      },
      has: (id) => this.groups.some((group) => group.id === id),
      make: () => h("div", { class: "group", role: "option" },
        h("span"), h("span", { class: "count" })),
      fill: (element, item, rank) => this.fill(element, item, rank),
      onrange: (first, last) => {
        if (last >= this.groups.length) this.window?.readMore();
      },
    });
    this.window = new GroupWindow(page, index.index, (animates) => this.refresh(animates));
  }

  close() {
    this.window.close();
    this.list.close();
  }

  refresh(animates) {
    const { groups } = this.window;
    const fits = ({ group }) => format.key(group).toLowerCase().includes(this.filter);
    this.groups = this.filter ? groups.filter(fits) : groups;
    this.search.hidden = groups.length < 12;
    setText(this.count, `${format.count(groups.length)}${this.window.next ? "+" : ""}`);
    this.list.setCount(this.groups.length);
    if (animates) this.list.drawChange();
    if (this.chosen === undefined && groups.length > 0) this.choose(0);
  }

  fill(element, item, rank) {
    if (!item) return;
    const isChosen = item.id === this.chosen;
    element.id = `group-${rank}`;
    element.dataset.rank = rank;
    element.setAttribute("aria-selected", isChosen);
    element.setAttribute("aria-posinset", rank + 1);
    element.setAttribute("aria-setsize", this.window.next ? -1 : this.groups.length);
    setText(element.firstChild, format.key(item.group.group));
    setText(element.lastChild, format.count(item.group.rows));
  }

  choose(rank) {
    const group = this.groups[rank];
    if (!group) return;
    this.chosen = group.id;
    this.scroller.setAttribute("aria-activedescendant", `group-${rank}`);
    this.list.reveal(rank);
    this.list.refill();
    this.onchoose(group.group);
  }

  key(event) {
    const now = this.groups.findIndex((group) => group.id === this.chosen);
    const page = Math.max(1, Math.floor(this.list.scroll.viewport / ROW_HEIGHT) - 1);
    const target = {
      ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: this.groups.length - 1,
      PageDown: now + page, PageUp: now - page,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.choose(Math.max(0, Math.min(target, this.groups.length - 1)));
  }
}
