"""The page for screen readers, in the dark, and on a phone."""

import json
import urllib.parse

from axe_playwright_python.sync_playwright import Axe

from browser import Tab


def barriers(browser, served):
    """Lets axe look at every view, in light and dark."""
    row = urllib.parse.quote(json.dumps(["flights", "20130105-B6600-JFK"]))
    for state in [f"&group=JFK&at=5000&row={row}", "&view=log&commit=5000",
                  "&view=buckets&at=4000", "&view=compare&from=5000&to=5010", "&view=stats"]:
        tab = Tab(browser, served, state)
        tab.page.wait_for_selector(".panel .version, .card, .differences li, #bucket-row-0")
        # The panel has come to rest.
        tab.page.wait_for_timeout(250)
        for scheme in ["light", "dark"]:
            tab.page.emulate_media(color_scheme=scheme)
            found = Axe().run(tab.page).response["violations"]
            names = [(one["id"], one["nodes"][0]["target"]) for one in found]
            assert not names, f"{scheme} {state}: {names}"
        tab.close()


PLACES = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const grid = document.querySelector(".rows .grid");
  grid.scrollLeft = 1e6;
  const heads = grid.querySelectorAll("[role=columnheader]");
  document.querySelector("#panel").scrollTop = 60;
  const title = box(".panel h2");
  return {
    page: document.documentElement.scrollWidth, panel: box("#panel").left,
    grid: box(".rows .grid").right, last: heads[heads.length - 1].getBoundingClientRect().right,
    title: document.elementFromPoint(title.left + 20, title.top + 20)?.tagName,
    row: box(".rows .row.shown, .rows .row.active").bottom, end: box(".rows .grid").bottom,
  };
}"""


def panel(browser, served, shots=None):
    """Opens the panel at many widths: it covers no column, and the row chosen stays in view."""
    for width in range(641, 1400, 69):
        tab = Tab(browser, served, "&group=JFK&at=5003",
                  viewport={"width": width, "height": 760}, reduced_motion="reduce")
        tab.ready()
        tab.page.locator(".row[data-rank]").nth(9).click()
        tab.page.wait_for_selector(".panel .version")
        tab.settle()
        found = tab.page.evaluate(PLACES)
        assert found["page"] <= width, f"{width}: {found}"
        assert found["last"] <= found["grid"] + 1 <= found["panel"] + 2, f"{width}: {found}"
        assert found["row"] <= found["end"] and found["title"] == "H2", f"{width}: {found}"
        if shots:
            tab.page.screenshot(path=str(shots / f"panel-{width}.png"))
        tab.close()


def phone(browser, served, shots=None):
    """Reads rows and a history on a narrow screen, which only lists scroll."""
    tab = Tab(browser, served, "&group=JFK&at=5003", viewport={"width": 390, "height": 800})
    tab.ready()
    wide = tab.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, f"{wide} pixels wide"
    grid = tab.page.evaluate("""() => {
      const grid = document.querySelector(".rows .grid");
      return [grid.scrollWidth, grid.clientWidth, grid.clientHeight];
    }""")
    assert grid[0] <= grid[1] and grid[2] > 300, grid
    if shots:
        tab.page.screenshot(path=str(shots / "phone.png"))
    tab.page.locator("#row-0").click()
    tab.page.wait_for_selector(".panel .version")
    tab.close()
