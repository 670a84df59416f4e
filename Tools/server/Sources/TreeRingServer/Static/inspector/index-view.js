// The view of an index: its groups, and the rows of the group chosen.

import { keyID } from "/treering.js";
import { h } from "./dom.js";
import { GroupsView } from "./groups-view.js";
import { RowsView } from "./rows-view.js";

/** The view of one index. */
export class IndexView {
  constructor(page) {
    this.page = page;
    this.element = h("div", { class: "index-view" });
    const { indexes } = page.store;
    const name = page.address.get("index");
    this.index = indexes.find((index) => index.index === name)
      ?? indexes.find((index) => index.groups !== null);
    if (!this.index) {
      this.element.append(h("p", { class: "note" },
        "This store has no index that the server can read. The buckets and the log are there."));
      return;
    }
    const chosen = page.address.key("group");
    this.place = h("div", { class: "rows-place" });
    this.groups = new GroupsView(page, this.index, {
      chosen: chosen === undefined ? undefined : keyID(chosen),
      onchoose: (group) => this.show(group),
    });
    this.element.append(
      h("div", { class: "side" }, this.chooser(indexes), this.groups.element), this.place);
    if (chosen !== undefined) this.show(chosen);
  }

  chooser(indexes) {
    return h("label", { class: "chooser-index" }, h("span", {}, "Index"),
      h("select", {
        onchange: (event) => {
          this.page.address.set(
            { index: event.target.value, group: null, columns: null, top: null }, true);
          this.page.show();
        },
      }, indexes.map((index) => h("option", {
        value: index.index, selected: index === this.index, disabled: index.groups === null,
      }, index.index))));
  }

  show(group) {
    const id = keyID(group);
    if (this.rows && id === this.shown) return;
    if (this.rows) this.page.address.set({ top: null });
    this.rows?.close();
    this.shown = id;
    this.page.address.set({ index: this.index.index, group: id });
    this.rows = new RowsView(this.page, this.index, group);
    this.place.replaceChildren(this.rows.element);
  }

  close() {
    this.groups?.close();
    this.rows?.close();
  }
}
