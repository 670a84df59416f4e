// The life of one row: its versions, newest first, each with the fields that differ from the one
// before. Choosing a version moves the page to its moment.

import { h } from "./dom.js";
import { path } from "./api.js";
import { differences, fields } from "./fields.js";
import * as format from "./format.js";

const MOST = 200;

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
export async function rowPanel(page, bucket, key) {
  const target = path`/v1/buckets/${bucket}/rows/${key}/history`;
  const { versions, more } = await page.api.get(target, { limit: MOST });
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
    h("h2", {}, format.key(key)),
    h("p", { class: "count" },
      `${bucket} · ${format.counted(versions.length, "version")}${more ? ", and older ones" : ""}`),
    current?.object === undefined
      ? h("p", { class: "note" }, "At the moment shown there is no such row.")
      : h("details", { open: versions.length === 1 },
        h("summary", {}, `All ${fields(current.object).length} fields at the moment shown`),
        fieldTable(undefined, current.object)),
    h("ol", { class: "versions" }, list),
  ];
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
