"""An index of more groups than a live window takes: the page reads them in pages."""

import json

from browser import Tab
from served import Served, tool

COUNT = 10_500


def check(browser, folder):
    """Reads all groups on the page, and the rows of the first and the last one."""
    store = folder / "many.ring"
    definition = {"bucket": "rows", "group": "group", "order": ["order"], "version": 1}
    rows = [["put", "rows", f"k{number}", {"group": f"g{number:05}", "order": number}]
            for number in range(COUNT)]
    tool("import", store, text="\n".join(json.dumps({"ops": ops}) for ops in [
        [["index", "board", definition]], rows]) + "\n")
    served = Served(store, "--write")
    tab = Tab(browser, served)
    page = tab.page
    try:
        # The window is refused, and that is no error of the page.
        tab.until("document.querySelector('.groups .count')?.textContent === '1,000+'")
        tab.errors.clear()
        page.locator(".groups-list").focus()
        for thousand in range(2, COUNT // 1000 + 2):
            page.keyboard.press("End")
            count = min(thousand * 1000, COUNT)
            text = f"{count:,}" + ("+" if count < COUNT else "")
            tab.until("text => document.querySelector('.groups .count')?.textContent === text", text)
        for press, number in [("Home", 0), ("End", COUNT - 1)]:
            page.keyboard.press(press)
            tab.until("name => location.hash.includes('group=' + name)", f"g{number:05}")
            tab.settle()
            keys = [json.loads(row["id"])[2] for row in tab.shown()["rows"]]
            assert keys == [f"k{number}"], keys
        # A name is sought in the pages to come too.
        page.evaluate(f"inspector.moment.seek({served.ask('/v1/store')['commit']})")
        # The list shows the end of what it has, so it asks for a second page.
        tab.until("['1,000+', '2,000+'].includes("
                  "document.querySelector('.groups .count')?.textContent)")
        page.get_by_label("Find a group").fill("g09876")
        tab.until("document.querySelectorAll('.groups-list .group').length === 1 && "
                  "document.querySelector('.groups-list .group').textContent.includes('g09876')")
        page.get_by_label("Find a group").fill("")
        # A new group shows when the list is read anew: at another moment.
        newest = served.commit(["put", "rows", "new", {"group": "g-first", "order": 1}])
        tab.until(f"inspector.moment.newest >= {newest}")
        page.evaluate(f"inspector.moment.seek({newest})")
        page.keyboard.press("Home")
        tab.until("document.querySelector('.groups-list .group').textContent.includes('g-first')")
        tab.check()
        tab.close()
    finally:
        served.stop()
