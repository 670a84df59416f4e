"""Headless Chromium with a page of the inspector."""

import contextlib
import os
import shutil

from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

# The rows that the document has, by rank, with the texts of their cells; the number of rows; the
# commit that the page says it shows.
SHOWN = """() => {
  const grid = document.querySelector(".rows .grid");
  const rows = [...grid.querySelectorAll(".sizer > .row[data-rank]:not(.ghost)")].map((row) => ({
    rank: Number(row.dataset.rank), id: row.dataset.row, waits: row.classList.contains("waiting"),
    texts: [...row.children].map((cell) => cell.textContent),
  }));
  const heads = [...grid.querySelectorAll("[role=columnheader]")].map((head) =>
    head.firstChild.textContent);
  return {rows, heads, total: Number(grid.getAttribute("aria-rowcount")) - 1,
          commit: inspector.moment.commit, first: inspector.view.rows?.list.scroll.ranks()[0]};
}"""


@contextlib.contextmanager
def chromium():
    """A browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page that has opened a server's inspector. Any error in it fails the test."""

    def __init__(self, browser, served, fragment="", **context):
        context = {"viewport": {"width": 1280, "height": 800}, **context}
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self.note)
        self.page.goto(f"{served.url}#token={served.token}{fragment}")

    def note(self, message):
        """Keeps the errors that the console shows: also violations of the page's policy."""
        if message.type == "error":
            self.errors.append(message.text)

    def shown(self):
        """The rows in the document."""
        return self.page.evaluate(SHOWN)

    def ready(self):
        """Waits until rows are there."""
        self.page.wait_for_selector(".rows .sizer > .row:not(.waiting)")

    def until(self, expression, argument=None):
        """Waits until an expression holds. The page's policy forbids it to evaluate texts."""
        for _ in range(1000):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(10)
        raise AssertionError(f"never: {expression}")

    def settle(self):
        """Waits until the page shows its moment, and has drawn it."""
        self.page.evaluate("""async () => {
          await inspector.moment.settled();
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
        }""")

    def check(self):
        """Fails if an error came up."""
        assert not self.errors, self.errors

    def close(self):
        """Closes the page, and fails if an error came up."""
        self.context.close()
        self.check()
