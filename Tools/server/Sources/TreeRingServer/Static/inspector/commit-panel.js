// One commit with its operations, beside the log.

import { h, setText } from "./dom.js";
import { fieldTable } from "./row-panel.js";
import * as format from "./format.js";

const MOST = 200;

/** The panel of a commit. */
export async function commitPanel(page, number) {
  const commit = await page.api.get(`/v1/commits/${number}`);
  const operations = commit.ops ?? [];
  const list = h("ol", { class: "versions" });
  const more = h("button", { type: "button", class: "quiet", onclick: () => grow() });
  const grow = () => {
    const from = list.childElementCount;
    list.append(...operations.slice(from, from + MOST).map((operation) => one(page, operation)));
    const rest = operations.length - list.childElementCount;
    more.hidden = rest === 0;
    setText(more, `${format.counted(rest, "operation")} more`);
  };
  grow();
  return [
    h("h2", {}, `Commit ${format.count(number)}`),
    h("p", { class: "count" }, commit.at ? format.moment(commit.at) : null,
      commit.note ? ` · ${commit.note}` : null),
    h("p", {}, h("button", { type: "button", onclick: () => page.moment.seek(number) },
      "Show this moment"), " ",
    h("button", {
      type: "button", class: "quiet",
      onclick: () => page.go({ view: "compare", from: Math.max(1, number - 1), to: number }),
    }, "Compare with the commit before")),
    list, more,
  ];
}

function one(page, [kind, ...parts]) {
  const isRow = parts.length >= 2 && !["index", "tag", "untag"].includes(kind);
  const head = [h("span", { class: `pill pill-${kind}` }, kind)];
  if (isRow) {
    head.push(h("button", {
      type: "button", class: "go", title: "Show the row's history",
      onclick: () => page.openRow(parts[0], parts[1]),
    }, format.key(parts[1])), h("span", { class: "count" }, parts[0]));
  } else {
    head.push(...parts.map((part) => h("code", {}, format.value(part))));
  }
  const object = isRow ? parts[2] : undefined;
  return h("li", { class: "version" }, h("div", { class: "when" }, head),
    object === undefined ? null : fieldTable(undefined, object));
}
