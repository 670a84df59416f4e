// The life of one row: its versions, newest first, each with the fields that differ from the one
// before. Choosing a version moves the page to its moment.

import { h } from "./dom.js";
import { path } from "./api.js";
import { differences, fields } from "./fields.js";
import * as format from "./format.js";

const PAGE = 200;

/** The versions of a row that a panel lists: the newest, and older ones that its reader wants. */
export class RowHistory {
  constructor(api, bucket, key) {
    Object.assign(this, { api, bucket, key });
    this.target = path`/v1/buckets/${bucket}/rows/${key}/history`;
    this.versions = [];
    /** The commit that older versions begin with; null after the last one. */
    this.next = null;
  }

  /** Reads the newest versions again. Older ones stay if there is no gap before them. */
  async refresh() {
    const { versions, next } = await this.api.get(this.target, { limit: PAGE });
    const last = versions.at(-1)?.commit ?? 0;
    const older = this.versions.filter((version) => version.commit < last);
    if (next !== null && older.length > 0 && this.versions[0].commit >= last) {
      this.versions = [...versions, ...older];
    } else {
      Object.assign(this, { versions, next });
    }
  }

  /** Reads older versions. */
  async more() {
    const from = this.next;
    const { versions, next } = await this.api.get(this.target, { limit: PAGE, from });
    if (from !== this.next) return;
    this.versions = [...this.versions, ...versions];
    this.next = next;
  }
}

/** A table of fields: those that differ, or all of a first version. */
export function fieldTable(before, after) {
  const isFirst = before === undefined || after === undefined;
  const rows = differences(before, after).map((part) => h("tr", {},
    h("th", { scope: "row" }, part.path),
    isFirst ? null : h("td", { class: "before" }, text(part.before)),
    h("td", { class: after === undefined ? "before" : "after" },
      text(after === undefined ? part.before : part.after))));
  return h("table", { class: "fields" },
    isFirst ? null : h("thead", { class: "hidden" }, h("tr", {},
      h("th", {}, "Field"), h("th", {}, "Before"), h("th", {}, "After"))),
    h("tbody", {}, rows));
}

function text(value) {
  return value === undefined ? h("span", { class: "none" }, "none") : format.value(value);
}

/** The panel of a row. */
export async function rowPanel(page, history) {
  await history.refresh();
  const { versions, next } = history;
  const hasMore = next !== null;
  const shown = page.moment.shown;
  const current = versions.find((version) => version.commit <= shown);
  const list = versions.map((version, index) => {
    const before = versions[index + 1];
    const state = version === current ? "now" : version.commit > shown ? "later" : "";
    const isWhole = version.object === undefined || before?.object === undefined;
    return h("li", { class: `version ${state}`, "data-commit": version.commit },
      h("div", { class: "when" },
        h("button", {
          type: "button", class: "go", title: "Show the page at this moment",
          "aria-current": version === current ? "true" : null,
          onclick: () => page.moment.seek(version.commit),
        }, format.moment(version.at)),
        h("span", { class: "count" }, `commit ${format.count(version.commit)}`),
        h("span", { class: `pill pill-${version.kind}` }, version.kind)),
      isWhole ? folded(version.object ?? before?.object, version.object === undefined)
        : changed(before.object, version.object));
  });
  return [
    h("h2", {}, format.key(history.key)),
    h("p", { class: "count" }, `${history.bucket} · ${format.counted(versions.length, "version")}`
      + (hasMore ? ", and older ones" : "")),
    current?.object === undefined
      ? h("p", { class: "note" }, !current && hasMore
        ? "The moment shown is before the versions listed."
        : "At the moment shown there is no such row.")
      : h("details", { open: versions.length === 1 },
        h("summary", {}, `All ${fields(current.object).length} fields at the moment shown`),
        fieldTable(undefined, current.object)),
    h("ol", { class: "versions" }, list),
    hasMore ? h("button", {
      type: "button", class: "quiet", onclick: (event) => readOlder(page, history, event.target),
    }, "Older versions") : null,
  ];
}

async function readOlder(page, history, button) {
  button.disabled = true;
  try {
    await history.more();
    await page.panelAgain?.();
  } catch (error) {
    button.disabled = false;
    page.fail(error);
  }
}

/** All fields of a row that came or went, folded away. */
function folded(object, isGone) {
  if (object === undefined) return null;
  return h("details", {}, h("summary", { class: "count" },
    `${format.counted(fields(object).length, "field")}${isGone ? " gone" : ""}`),
  isGone ? fieldTable(object, undefined) : fieldTable(undefined, object));
}

function changed(before, after) {
  if (JSON.stringify(before) === JSON.stringify(after)) {
    return h("p", { class: "none" }, "The same fields.");
  }
  return fieldTable(before, after);
}
