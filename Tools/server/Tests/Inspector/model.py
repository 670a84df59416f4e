"""The list on the page equals the store's answer, after random commits, seeks, returns, scrolls and
changes of group."""

import json
import random

from browser import Tab
from served import Served, tool

GROUPS = ["alpha", "beta", "gamma/δ"]
FIELDS = ["order", "group", "text"]


def commit(chooser, served, in_view):
    """A commit of some rows; half of the commits change a row in view where it stands."""
    operations = []
    if in_view and chooser.random() < 0.5:
        row = chooser.choice(in_view)
        text = f"t{chooser.randrange(1000)}"
        operations.append(["put", "rows", row["key"], {**row["object"], "text": text}])
        if chooser.random() < 0.5:
            return served.commit(*operations)
    for _ in range(chooser.choice([1, 1, 2, 3, 8])):
        key = f"k{chooser.randrange(400)}"
        if chooser.random() < 0.2:
            operations.append(["delete", "rows", key])
        else:
            operations.append(["put", "rows", key, {
                "group": chooser.choice(GROUPS), "order": chooser.randrange(50),
                "text": f"t{chooser.randrange(9)}"}])
    return served.commit(*operations)


def compare(tab, served, group, commit_shown):
    """One sentence about the first difference; None if the page is right."""
    shown = tab.shown()
    at = commit_shown
    rows, total = served.rows("board", group, 0, 1000, at)
    if shown["total"] != total:
        return f"the page counts {shown['total']} rows, the store {total} at {at}"
    expected_ranks = set(range(shown["first"], min(total, shown["first"] + 15)))
    missing = expected_ranks - {row["rank"] for row in shown["rows"]}
    if missing:
        return f"ranks {sorted(missing)} are not in the document"
    for row in shown["rows"]:
        if row["waits"]:
            return f"rank {row['rank']} is still to come"
        if row["rank"] >= total:
            return f"rank {row['rank']} is shown of {total}"
        stored = rows[row["rank"]]
        identity = [group, "rows", stored["key"]]
        texts = [str(stored["object"][name]) for name in shown["heads"]]
        if json.loads(row["id"]) != identity or row["texts"] != texts:
            return f"rank {row['rank']} shows {row['texts']}, the store has {identity} {texts}"
    return None


def run(browser, folder, seed, turns):
    """Compares after each of many random turns; returns a sentence."""
    chooser = random.Random(seed)
    store = folder / "model.ring"
    lines = []
    for key in range(240):
        lines.append(json.dumps({"ops": [["put", "rows", f"k{key}", {
            "group": GROUPS[key % 3 if key % 5 else 0], "order": key % 50, "text": "t0"}]]}))
    lines.append(json.dumps({"ops": [["index", "board", {
        "bucket": "rows", "group": "group", "order": ["order"], "version": 1}]]}))
    tool("import", store, text="\n".join(lines) + "\n")
    served = Served(store, "--write")
    try:
        tab = Tab(browser, served, "&columns=order,group,text")
        tab.ready()
        newest, target, group = 241, None, GROUPS[0]
        counts = {}
        for turn in range(turns):
            action = chooser.choices(
                ["commit", "seek", "follow", "scroll", "group"], [10, 5, 2, 3, 1])[0]
            counts[action] = counts.get(action, 0) + 1
            if action == "commit":
                first = tab.shown()["first"]
                in_view = served.rows("board", group, first, 15, "-0")[0]
                newest = commit(chooser, served, in_view)
            elif action == "seek":
                # The index is defined by commit 241. The page knows the newest commit soon.
                tab.until(f"inspector.moment.newest >= {newest}")
                target = chooser.randint(241, newest)
                tab.page.evaluate(f"inspector.moment.seek({target})")
            elif action == "follow":
                target = None
                tab.page.evaluate("inspector.moment.follow()")
            elif action == "scroll":
                part = chooser.choice([0, 1, chooser.random()])
                tab.page.evaluate("""(part) => {
                  const grid = document.querySelector(".rows .grid");
                  grid.scrollTop = part * (grid.scrollHeight - grid.clientHeight);
                }""", part)
            else:
                group = chooser.choice(GROUPS)
                rank = GROUPS.index(group)
                tab.page.evaluate(f"inspector.view.groups.choose({rank})")
            found = "nothing compared"
            for _ in range(300):
                found = compare(tab, served, group, target or newest)
                if found is None:
                    break
                tab.page.wait_for_timeout(10)
            assert found is None, f"seed {seed}, turn {turn}, {action}: {found}"
        tab.close()
        parts = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
        return f"model: seed {seed}, {turns} turns ({parts}), each compared with the store"
    finally:
        served.stop()
