"""Figures: from the return of a commit to the change in the page, and the slider."""

import statistics
import time

from browser import Tab
from served import FIXTURE, Served, flights, tool

WATCH = """() => {
  const { source } = inspector.view.rows;
  inspector.measured = new Map();
  const list = inspector.view.rows.list;
  const draw = list.drawNow.bind(list);
  list.drawNow = () => {
    draw();
    const commit = source.window.commit;
    if (!inspector.measured.has(commit)) {
      inspector.measured.set(commit, performance.timeOrigin + performance.now());
    }
  };
}"""

# Moves the slider as a reader does: its value, then its event. Waits until every list has the
# moment and the rows are drawn.
JUMP = """async (commit) => {
  const slider = document.querySelector("input[type=range]");
  const { list, source } = inspector.view.rows;
  const start = performance.now();
  slider.value = commit;
  slider.dispatchEvent(new Event("input"));
  await inspector.moment.settled();
  list.drawNow();
  document.body.offsetHeight;
  const time = performance.now() - start;
  if (source.window.commit !== commit) throw new Error(`at ${source.window.commit}`);
  return time;
}"""


def quantiles(values):
    """The median, the 99th percentile and the most of milliseconds."""
    values = sorted(values)
    ninety_nine = values[min(len(values) - 1, int(len(values) * 0.99))]
    return (f"p50 {statistics.median(values):.2f} ms, p99 {ninety_nine:.2f} ms, "
            f"worst {values[-1]:.2f} ms")


def fill(served):
    """Puts forty flights on the board, which is empty at the end of the fixture."""
    served.commit(*[["put", "flights", f"new{turn:02}", {
        "flight": f"TR{turn:02}", "carrier": "TreeRing", "origin": "JFK", "dest": "LAX",
        "scheduled": f"2013-01-09T{turn // 4 + 8:02}:{turn % 4 * 15:02}:00-05:00",
        "status": "scheduled", "gate": "B1", "delay": 0}] for turn in range(40)])


def latency(browser, folder, count):
    """From the return of a commit to the rows in the document."""
    store = folder / "latency.ring"
    if not store.exists():
        flights(store)
    served = Served(store, "--write")
    try:
        fill(served)
        tab = Tab(browser, served, "&group=JFK")
        tab.ready()
        tab.page.evaluate(WATCH)
        first = served.rows("departures", "JFK", 0, 20, "-0")[0]
        returned = {}
        for turn in range(count):
            row = first[turn % len(first)]
            changed = {**row["object"], "gate": f"B{turn % 30}"}
            commit = served.commit(["put", "flights", row["key"], changed])
            returned[commit] = time.time() * 1000
            time.sleep(0.025)
        tab.page.wait_for_timeout(500)
        drawn = dict(tab.page.evaluate("[...inspector.measured]"))
        times = [drawn[commit] - at for commit, at in returned.items() if commit in drawn]
        assert len(times) > 0.9 * count, f"{len(times)} of {count} commits were drawn by themselves"
        tab.close()
        return f"latency: {len(times)} commits, commit returned to rows drawn: {quantiles(times)}"
    finally:
        served.stop()


def slider(browser, folder, source, count, shots):
    """The slider over a whole history: the next state, and jumps anywhere."""
    store = folder / "slider.ring"
    if not store.exists():
        flights(store, source)
    served = Served(store)
    try:
        newest = served.ask("/v1/store")["commit"]
        tab = Tab(browser, served, f"&group=JFK&at={newest // 2}")
        tab.ready()
        tab.page.wait_for_timeout(500)
        nexts, jumps = [], []
        place = 7919
        for turn in range(count):
            place = (place * 48271) % 2147483647
            commit = 1 + place % (newest - 10)
            jumps.append(tab.page.evaluate(JUMP, commit))
            for step in range(1, 4):
                nexts.append(tab.page.evaluate(JUMP, commit + step))
        if shots:
            tab.page.wait_for_timeout(3000)
            tab.page.screenshot(path=str(shots / "slider.png"))
        tab.close()
        return (f"slider over {newest:,} commits: next state: {quantiles(nexts)}; "
                f"jump anywhere: {quantiles(jumps)}")
    finally:
        served.stop()


def burst(browser, folder, shots):
    """The page beside a process that commits as fast as it may; returns a sentence."""
    store = folder / "burst.ring"
    flights(store)
    served = Served(store, "--write")
    try:
        fill(served)
        tab = Tab(browser, served, "&group=JFK")
        tab.ready()
        row = served.rows("departures", "JFK", 0, 1, "-0")[0][0]
        before = served.ask("/v1/store")["commit"]
        start = time.time()
        while time.time() - start < 3:
            for turn in range(50):
                changed = {**row["object"], "gate": f"C{turn}"}
                newest = served.commit(
                    ["put", "flights", row["key"], changed], durability="relaxed")
        if shots:
            tab.page.screenshot(path=str(shots / "burst.png"))
        pace = (newest - before) / (time.time() - start)
        start = time.time()
        tab.until(f"inspector.view.rows.source.window.commit >= {newest}")
        behind = (time.time() - start) * 1000
        tab.close()
        return f"burst: {pace:.0f} commits/s, the page is {behind:.0f} ms behind at the end"
    finally:
        served.stop()


def million(browser, folder, shots, count=1_000_000):
    """A group of a million rows: frames while it scrolls, and the ends of the scroll bar."""
    store = folder / "million.ring"
    rows = "".join(
        f'{{"ops":[{",".join(map(row, range(first, min(first + 5000, count))))}]}}\n'
        for first in range(0, count, 5000))
    definition = ('{"ops":[["index","ledger",{"bucket":"entries","group":"book",'
                  '"order":["number"],"version":1}]]}\n')
    tool("import", store, text=rows + definition)
    served = Served(store)
    try:
        tab = Tab(browser, served)
        tab.ready()
        frames = tab.page.evaluate("""async () => {
          const grid = document.querySelector(".rows .grid");
          const times = [];
          let before = await new Promise(requestAnimationFrame);
          const end = grid.scrollHeight - grid.clientHeight;
          for (let turn = 0; turn < 240; turn++) {
            grid.scrollTop = turn < 120 ? grid.scrollTop + 60 : (end * (turn - 120)) / 119;
            const now = await new Promise(requestAnimationFrame);
            times.push(now - before);
            before = now;
          }
          return times;
        }""")
        tab.until("""() => {
          const rows = [...document.querySelectorAll(".rows .sizer > .row[data-rank]")];
          return rows.length > 10 && rows.every((row) => !row.classList.contains("waiting"));
        }""")
        shown = tab.shown()
        assert shown["total"] == count, shown["total"]
        assert max(row["rank"] for row in shown["rows"]) == count - 1
        if shots:
            tab.page.screenshot(path=str(shots / "million.png"))
        tab.close()
        return f"a million rows: frames while scrolling: {quantiles(frames)}"
    finally:
        served.stop()


def row(number):
    """A row of the ledger."""
    return (f'["put","entries","e{number:07d}",{{"book":"2013","number":{number},'
            f'"amount":{number * 7919 % 100_000},"side":"{"debit" if number % 3 else "credit"}"}}]')
