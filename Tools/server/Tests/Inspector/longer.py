"""Lists that go on: a row with a long history, a commit of many operations, many differences."""

import json

from browser import Tab
from served import Served, tool

VERSIONS = 12
OPERATIONS = 205
# Beyond the integers that a number of JavaScript holds.
BIG = 9_007_199_254_740_992


def check(browser, folder):
    """Reads each of the lists to its end."""
    store = folder / "longer.ring"
    lines = [{"ops": [["put", "rows", "long", {"n": BIG + number, "text": "x" * 60_000}]]}
             for number in range(VERSIONS)]
    lines.append({"ops": [["put", "rows", f"k{number}", number] for number in range(OPERATIONS)]})
    lines += [{"ops": [["put", "rows", f"r{number}-{part}", part] for part in range(60)]}
              for number in range(10)]
    tool("import", store, text="".join(json.dumps(line) + "\n" for line in lines))
    served = Served(store)
    try:
        tab = Tab(browser, served, "&view=log")
        tab.page.wait_for_selector(".grid.log .row:not(.waiting)[id]")
        history(tab, served)
        operations(tab)
        differences(tab, served)
        tab.close()
    finally:
        served.stop()


def history(tab, served):
    """The versions of a row come in pages of some hundred kilobytes."""
    first = served.ask("/v1/buckets/rows/rows/long/history")
    assert 1 < len(first["versions"]) < VERSIONS and first["next"], first["next"]
    tab.page.evaluate("inspector.openRow('rows', 'long')")
    count = len(first["versions"])
    older = tab.page.get_by_role("button", name="Older versions")
    while True:
        tab.until("(count) => document.querySelectorAll('.panel .version').length === count",
                  count)
        shown = tab.page.locator(".panel .version").evaluate_all(
            "(items) => items.map((item) => Number(item.dataset.commit))")
        assert shown == list(range(VERSIONS, VERSIONS - count, -1)), shown
        if count == VERSIONS:
            break
        count = min(VERSIONS, count + len(first["versions"]))
        older.click()
    assert older.count() == 0
    texts = tab.page.locator(".panel .version").all_inner_texts()
    for number in range(1, VERSIONS):
        assert str(BIG + number) in texts[VERSIONS - 1 - number], texts[VERSIONS - 1 - number]
    # A moment that no listed version reaches.
    tab.page.evaluate("inspector.closePanel()")
    tab.page.evaluate("inspector.moment.seek(2)")
    tab.page.evaluate("inspector.openRow('rows', 'long')")
    tab.page.wait_for_selector("text=before the versions listed")


def operations(tab):
    """A commit shows its first operations, and then the others."""
    tab.page.evaluate(f"inspector.openCommit({VERSIONS + 1})")
    tab.until("document.querySelectorAll('.panel .version').length === 200")
    tab.page.get_by_role("button", name="5 operations more").click()
    tab.until(f"document.querySelectorAll('.panel .version').length === {OPERATIONS}")
    keys = tab.page.locator(".panel .version .go").all_inner_texts()
    assert keys == [f"k{number}" for number in range(OPERATIONS)]
    assert tab.page.get_by_role("button", name="more", exact=False).count() == 0


def differences(tab, served):
    """The differences of two moments come in pages."""
    tab.page.evaluate("inspector.go({ view: 'compare', from: 1, to: 23 })")
    tab.until("document.querySelectorAll('.differences > li').length === 500")
    tab.page.get_by_role("button", name="More differences").click()
    stored = served.ask("/v1/diff?from=1&to=23&limit=1000")["differences"]
    tab.until("(count) => document.querySelectorAll('.differences > li').length === count",
              len(stored))
    keys = tab.page.locator(".differences .go").all_inner_texts()
    assert keys == [difference["key"] for difference in stored]
    assert tab.page.get_by_role("button", name="More differences").is_hidden()
