// Kills the process that writes a store while a server follows it, several times: a page sees pauses
// and nothing else. At last it kills the server, which leaves the store sound. Needs Node 20 or later.
//
//   node --experimental-websocket kill.mjs
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { LiveConnection } from "../../Sources/TreeRingServer/Static/treering.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const tool = process.env.TREERING ?? join(root, ".build-tests/debug/treering");
const program = process.env.TREERING_SERVER ?? join(root, ".build-tests/debug/treering-server");
const folder = mkdtempSync(join(tmpdir(), "treering-kill-"));
const store = join(folder, "s.ring");
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const ask = (...words) => execFileSync(tool, words).toString().trim();

execFileSync(tool, ["import", store], {
  input:
    '{"ops":[["put","rows","k0",{"group":"g0","order":1}]]}\n'
    + '{"ops":[["index","board",{"bucket":"rows","group":"group","order":["order"],"version":1}]]}\n',
});
const server = spawn(program, [store, "--port", "0"]);
server.stderr.pipe(process.stderr);
const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(`${data}`)));
const [, address, token] = line.match(/^http:\/\/(.*)\/#token=(.*)\n$/);
let resets = 0, connections = 0;
const connection = new LiveConnection(`ws://${address}/v1/live`, {
  token, onstate: (state) => (connections += state === "open" ? 1 : 0),
  onerror: (error) => assert.fail(JSON.stringify(error)),
});
const window = connection.open({ index: "board" });
window.listen((change) => (resets += change.kind === "reset" ? 1 : 0));
await sleep(300);
let count = 0;
for (let turn = 0; turn < 5; turn++) {
  const writer = spawn(tool, ["import", store, "--durability", "full"]);
  writer.stdin.on("error", () => {});
  for (const end = Date.now() + 400; Date.now() < end; await sleep(5)) {
    for (let line = 0; line < 50; line++) {
      count++;
      writer.stdin.write(
        `{"ops":[["put","rows","k${count % 40}",{"group":"g${count % 3}","order":${count}}]]}\n`);
    }
  }
  const ended = new Promise((resolve) => writer.once("exit", resolve));
  writer.kill("SIGKILL");
  await ended;
}
// The last commit before a kill may not be durable, so a follower shows it only after the next one.
execFileSync(tool, ["import", store], {
  input: '{"ops":[["put","rows","k1",{"group":"g1","order":0}]]}\n',
});
const newest = JSON.parse(ask("stats", store, "--json")).commits;
for (let turn = 0; turn < 500 && window.commit !== newest; turn++) await sleep(10);
assert.equal(window.commit, newest);
const shown = Object.fromEntries(window.sections.map((section) => [
  section.group, section.rows.map((row) => [row.key, row.object]),
]));
for (const group of ["g0", "g1", "g2"]) {
  const rows = ask("rows", store, "board", "--group", group, "--json").split("\n").map(JSON.parse);
  assert.deepEqual(shown[group], rows.map((row) => [row.key, row.object]));
}
assert.equal(resets, 1, "only the opening sends the whole window");
assert.equal(connections, 1);
connection.close();
server.kill("SIGKILL");
await new Promise((resolve) => server.once("exit", resolve));
assert.match(ask("verify", store), /sound/);

// A server whose store is replaced ends with the code 74, so that its supervisor starts it again.
const follower = spawn(program, [store, "--port", "0"]);
let words = "";
follower.stderr.on("data", (data) => (words += data));
await new Promise((resolve) => follower.stdout.once("data", resolve));
const over = new Promise((resolve) => follower.once("exit", (code) => resolve(code)));
const other = join(folder, "other.ring");
execFileSync(tool, ["import", other], { input: '{"ops":[["put","rows","k0",{"group":"g0"}]]}\n' });
rmSync(store, { recursive: true });
renameSync(other, store);
execFileSync(tool, ["import", store], { input: '{"ops":[["put","rows","k1",{"group":"g0"}]]}\n' });
const code = await Promise.race([over, sleep(20_000)]);
assert.equal(code, 74, words);
assert.match(words, /replaced|lost/);
console.log(`followed ${newest} commits over 5 kills of the writer, with one whole window`);
rmSync(folder, { recursive: true, force: true });
process.exit(0);
