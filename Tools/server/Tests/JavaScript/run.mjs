// Tests treering.js against a server: after random commits, seeks, returns, range changes and lost
// connections the lists of the page equal the store's answers. Needs Node 20 or later.
//
//   node --experimental-websocket run.mjs [SEED] [TURNS]
//
// TREERING and TREERING_SERVER name the tool and the server; by default those of .build-tests.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { LiveConnection, KeyedLists, keyID } from "../../Sources/TreeRingServer/Static/treering.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const tool = process.env.TREERING ?? join(root, ".build-tests/debug/treering");
const program = process.env.TREERING_SERVER ?? join(root, ".build-tests/debug/treering-server");
const seed = Number(process.argv[2] ?? 1);
const turns = Number(process.argv[3] ?? 500);
const folder = mkdtempSync(join(tmpdir(), "treering-js-"));
const store = join(folder, "s.ring");

let state = seed >>> 0 || 1;
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}

/** As much of the DOM as KeyedLists uses. */
class Element {
  constructor(name) {
    this.name = name;
    this.children = [];
    this.parent = null;
  }
  insertBefore(node, before) {
    node.remove();
    const index = before === null ? this.children.length : this.children.indexOf(before);
    assert(index >= 0, "insertBefore: no child of this element");
    this.children.splice(index, 0, node);
    node.parent = this;
  }
  remove() {
    if (!this.parent) return;
    this.parent.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
  }
  replaceChildren() {
    for (const child of [...this.children]) child.remove();
  }
}

let server, address, token;
async function start(port = 0) {
  server = spawn(program, [store, "--write", "--port", String(port)]);
  server.stderr.pipe(process.stderr);
  const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(`${data}`)));
  [, address, token] = line.match(/^http:\/\/(.*)\/#token=(.*)\n$/);
}
function stop(signal) {
  return new Promise((resolve) => {
    server.once("exit", resolve);
    server.kill(signal);
  });
}
async function ask(target, body) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`http://${address}${target}`, {
    headers, method: body ? "POST" : "GET", body: body && JSON.stringify(body),
  });
  return answer.json();
}
// On a busy machine a server takes seconds to start, and the next attempt as long again.
async function eventually(condition, what) {
  for (let turn = 0; turn < 12_000; turn++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`seed ${seed}: ${what}`);
}

const groups = ["a", "b", "c"];
async function commit() {
  const ops = [];
  for (let count = random(4) + 1; count > 0; count--) {
    const key = `k${random(30)}`;
    if (random(5) === 0) ops.push(["delete", "rows", key]);
    else ops.push(["put", "rows", key, { group: groups[random(3)], order: random(9), text: random(3) }]);
  }
  return (await ask("/v1/commits", { ops })).commit;
}

/** The rows of a window, asked for anew. */
async function naive(window) {
  const sections = [];
  for (const group of window.request.groups) {
    const range = window.request.ranges?.[group] ?? "fixed:1000";
    const query = `range=${range}&at=${window.commit}&limit=1000`;
    const answer = await ask(`/v1/indexes/board/groups/${group}/rows?${query}`);
    sections.push({ group, rows: (answer.rows ?? []).map((row) => [row.key, row.object]) });
  }
  return sections;
}

async function main() {
  execFileSync(tool, ["import", store], {
    input:
      '{"ops":[["put","rows","k0",{"group":"a","order":1}]]}\n'
      + '{"ops":[["index","board",{"bucket":"rows","group":"group","order":["order"],"version":1}]]}\n',
  });
  await start();
  const port = address.split(":")[1];
  let states = [];
  const connection = new LiveConnection(`ws://${address}/v1/live`, {
    token, onstate: (state) => states.push(state),
    onerror: (error) => assert.fail(JSON.stringify(error)),
  });
  const views = [
    { groups: ["a", "b", "c"] },
    { groups: ["c", "a"], ranges: { a: "fixed:3:1", c: "fixed:2:0:end" } },
  ].map((request) => {
    const window = connection.open({ index: "board", ...request });
    window.onerror = (error) => assert.fail(JSON.stringify(error));
    const page = new Element("page");
    new KeyedLists(page, window, {
      section: (group) => new Element(keyID(group)),
      row: (row) => Object.assign(new Element(row.key), { text: row.object }),
      update: (element, row) => (element.text = row.object),
    });
    return { window, page, target: null };
  });
  let newest = 2;
  let compared = 0;
  for (let turn = 0; turn < turns; turn++) {
    const view = views[random(views.length)];
    switch (random(8)) {
      case 0:
        view.target = random(newest) + 1;
        view.window.seek(view.target);
        break;
      case 1:
        view.target = null;
        view.window.live();
        break;
      case 2:
        if (view.window.request.ranges) view.window.grow({ a: random(5) - 2 });
        break;
      case 3:
        if (random(6) === 0) {
          await stop(random(2) ? "SIGKILL" : "SIGTERM");
          // So long that attempts to connect fail too.
          await new Promise((resolve) => setTimeout(resolve, 600));
          await start(port);
          connection.token = token;
        }
        break;
      default:
        newest = await commit();
    }
    await eventually(() => connection.isOpen, "no connection");
    for (const { window, page, target } of views) {
      // A window that follows sends nothing if a commit changes none of its rows.
      const same = async () => {
        if (window.isPartial || (target !== null && window.commit !== target)) return false;
        const expected = await naive(target === null
          ? { request: window.request, commit: newest } : window);
        const shown = window.sections.map(({ group, rows }) =>
          ({ group, rows: rows.map((row) => [row.key, row.object]) }));
        const drawn = page.children.map((section) =>
          ({ group: section.name, rows: section.children.map((row) => [row.name, row.text]) }));
        const text = JSON.stringify(expected);
        return text === JSON.stringify(shown) && text === JSON.stringify(drawn);
      };
      await eventually(same, `turn ${turn}: the page differs from the store`);
      compared++;
    }
  }
  connection.close();
  await stop("SIGTERM");
  const opened = states.filter((state) => state === "open").length;
  console.log(`treering.js: seed ${seed}, ${turns} turns, ${compared} comparisons, ${opened} connections`);
}

try {
  await main();
} finally {
  server?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
