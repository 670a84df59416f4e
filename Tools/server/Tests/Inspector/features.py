"""A click through every feature of the page, with the store's answers beside it."""

import json
import re
import urllib.parse

import longer
import looks
import many
from browser import Tab
from served import Served, flights


class Features:
    """The steps, in order. Each is named by what it checks."""

    def __init__(self, browser, folder, shots=None):
        self.browser = browser
        self.shots = shots
        self.store = folder / "features.ring"
        flights(self.store)
        self.served = Served(self.store, "--write")
        self.tab = Tab(browser, self.served)
        self.page = self.tab.page

    def run(self):
        """Runs all steps; returns a sentence."""
        names = [name for name in dir(self) if name.startswith("step_")]
        try:
            for name in sorted(names, key=lambda name: list(type(self).__dict__).index(name)):
                try:
                    getattr(self, name)()
                    self.tab.check()
                except Exception as error:
                    if self.shots:
                        self.page.screenshot(path=str(self.shots / "failure.png"))
                    raise AssertionError(f"{name[5:].replace('_', ' ')}: {error}") from error
            self.tab.close()
            return f"features: {len(names)} steps"
        finally:
            self.served.stop()

    # Helpers

    def hash(self):
        """The state in the address, which is written a few times a second."""
        self.page.evaluate("inspector.address.write(false)")
        fragment = urllib.parse.urlsplit(self.page.url).fragment
        return dict(urllib.parse.parse_qsl(fragment))

    def seek(self, commit):
        """Moves the slider as a reader does."""
        slider = self.page.locator("input[type=range]")
        slider.evaluate("""(slider, commit) => {
          slider.value = commit;
          slider.dispatchEvent(new Event("input", {bubbles: true}));
        }""", commit)
        self.tab.settle()

    def expect_rows(self, group, at):
        """Compares the rows in view with the store's."""
        shown = self.tab.shown()
        rows, total = self.served.rows("departures", group, 0, 1000, at)
        assert shown["total"] == total, f"{shown['total']} rows shown, {total} stored"
        for row in shown["rows"]:
            key = json.loads(row["id"])[2]
            assert key == rows[row["rank"]]["key"], f"rank {row['rank']}: {key}"
        return shown

    def view(self, name):
        """Opens a view by its link."""
        self.page.get_by_role("link", name=name, exact=True).click()

    def text(self, selector):
        """The text of an element."""
        return self.page.locator(selector).first.inner_text()

    def shot(self, name):
        """Keeps a picture if the caller wants some."""
        if self.shots:
            self.page.wait_for_timeout(400)
            self.page.screenshot(path=str(self.shots / f"{name}.png"))

    # Steps

    def step_the_token_leaves_the_address(self):
        self.page.wait_for_selector(".groups-list")
        assert "token" not in self.page.url, self.page.url
        assert self.page.evaluate("sessionStorage.getItem('treering.token')") == self.served.token

    def step_an_address_with_a_token_may_be_opened_again(self):
        with self.page.expect_event("load"):
            self.page.evaluate(f"location.hash = 'token={self.served.token}&view=log'")
        self.page.wait_for_selector(".grid.log")
        self.page.goto(f"{self.served.url}#view=index")
        self.page.wait_for_selector(".groups-list")
        assert "token" not in self.page.url, self.page.url

    def step_no_script_of_text_and_no_other_host(self):
        policy = self.page.evaluate("""async () =>
          (await fetch("/")).headers.get("content-security-policy")""")
        assert "default-src 'none'" in policy and "unsafe" not in policy, policy
        refused = self.page.evaluate("""() => {
          try { document.body.innerHTML = "<b>x</b>"; return false; } catch { return true; }
        }""")
        assert refused, "text became HTML"
        self.tab.errors.clear()

    def step_the_slider_moves_groups_and_rows(self):
        for commit in [5003, 1200, 4500]:
            self.seek(commit)
            self.page.wait_for_selector(".rows .row:not(.head)")
            groups = self.served.ask(f"/v1/indexes/departures/groups?at={commit}")["groups"]
            shown = self.page.locator(".groups-list .group:not(.ghost)")
            self.tab.until(
                "count => document.querySelectorAll('.groups-list .group:not(.ghost)').length"
                " === count",  len(groups))
            texts = [shown.nth(index).inner_text().split() for index in range(len(groups))]
            assert texts == [[group["group"], str(group["rows"])] for group in groups], texts
            assert self.hash()["at"] == str(commit), self.page.url
        self.seek(5003)

    def step_a_group_is_chosen_by_mouse_and_by_keyboard(self):
        self.page.locator(".group", has_text="JFK").click()
        self.tab.settle()
        assert self.hash()["group"] == "JFK"
        self.expect_rows("JFK", 5003)
        self.page.locator(".groups-list").focus()
        self.page.keyboard.press("ArrowDown")
        self.tab.until("location.hash.includes('group=LGA')")
        self.tab.settle()
        self.expect_rows("LGA", 5003)
        self.page.keyboard.press("ArrowUp")
        self.tab.settle()
        self.expect_rows("JFK", 5003)
        self.shot("rows")

    def step_rows_are_a_grid_that_the_keyboard_reads(self):
        grid = self.page.locator(".rows .grid")
        grid.focus()
        for key in ["ArrowDown", "ArrowDown", "End", "Home", "ArrowDown"]:
            self.page.keyboard.press(key)
        active = grid.get_attribute("aria-activedescendant")
        assert active == "row-1", active
        self.page.wait_for_selector("#row-1.active")
        assert self.page.locator("#row-1").get_attribute("aria-rowindex") == "3"
        sorts = grid.locator("[aria-sort=ascending]").all_inner_texts()
        assert [text.split()[0].rstrip("↑") for text in sorts] == ["scheduled", "flight"], sorts

    def step_columns_are_chosen_from_the_fields(self):
        self.page.get_by_text("Columns", exact=True).click()
        self.page.get_by_label("destName", exact=True).check()
        self.page.get_by_label("tail", exact=True).uncheck()
        heads = self.tab.shown()["heads"]
        assert "destName" in heads and "tail" not in heads, heads
        assert "destName" in self.hash()["columns"]
        self.page.get_by_role("button", name="Usual columns").click()
        assert "destName" not in self.hash()["columns"].split(","), self.hash()
        self.page.get_by_text("Columns", exact=True).click()

    def step_a_row_shows_its_history_field_by_field(self):
        first = self.served.rows("departures", "JFK", 0, 1, 5003)[0][0]
        self.page.locator("#row-0").click()
        self.page.wait_for_selector(".panel .version")
        versions = self.served.ask(
            f"/v1/buckets/flights/rows/{first['key']}/history")["versions"]
        assert self.page.locator(".panel .version").count() == len(versions)
        for index, version in enumerate(versions[:-1]):
            before, after = versions[index + 1].get("object"), version.get("object")
            if before is None or after is None:
                continue
            names = [name for name in {**after, **before} if before.get(name) != after.get(name)]
            item = self.page.locator(".panel .version").nth(index)
            shown = item.locator("tbody th").all_inner_texts()
            assert sorted(shown) == sorted(names), f"{shown} instead of {names}"
        self.shot("history")
        # A version leads to its moment.
        self.page.locator(".panel .version .go").last.click()
        self.tab.settle()
        assert self.hash()["at"] == str(versions[-1]["commit"])
        self.page.keyboard.press("Escape")
        assert self.page.locator("#panel").is_hidden()
        self.seek(5003)

    def step_a_commit_a_date_a_tag_and_steps_back_are_found(self):
        jump = self.page.get_by_label("Go to a commit, a date, a tag, or some commits back")
        for text, point in [("4321", "4321"), ("2013-01-03T08:00:00-05:00",) * 2,
                            ("tag:sunday", "tag:sunday"), ("-100", "-100")]:
            commit = self.served.ask(
                f"/v1/commits?limit=1&from={urllib.parse.quote(point)}")["commits"][0]["commit"]
            jump.fill(text)
            jump.press("Enter")
            self.tab.until(f"inspector.moment.commit === {commit}")
        jump.fill("tag:none")
        jump.press("Enter")
        self.tab.until("!document.querySelector('.jump input').validity.valid")
        jump.fill("")
        self.tab.errors.clear()
        self.page.get_by_role("button", name="Tag first-noon").click()
        assert self.page.evaluate("inspector.moment.commit") < 8132
        ticks = self.page.locator(".tick").all_inner_texts()
        assert "3 Jan" in ticks, ticks

    def step_steps_and_playing(self):
        self.seek(5003)
        self.page.get_by_role("button", name="One commit on").click()
        self.tab.until("location.hash.includes('at=5004')")
        self.page.get_by_role("button", name="One commit back").click()
        self.tab.settle()
        self.expect_rows("JFK", 5003)
        self.page.get_by_role("button", name="Play the history").click()
        self.tab.until("inspector.moment.commit > 5020")
        self.page.get_by_role("button", name="Pause").click()
        self.tab.settle()
        self.expect_rows("JFK", self.page.evaluate("inspector.moment.commit"))

    def step_a_link_reproduces_the_page(self):
        self.seek(4800)
        self.page.locator("#row-2").click()
        self.page.wait_for_selector(".panel .version")
        self.hash()
        url = self.page.url
        other = Tab(self.browser, self.served, "&" + url.partition("#")[2])
        other.ready()
        other.page.wait_for_selector(".panel .version")
        other.settle()
        one, two = self.tab.shown(), other.shown()
        assert one["commit"] == two["commit"] == 4800
        assert one["heads"] == two["heads"]
        same = min(len(one["rows"]), len(two["rows"]))
        assert same > 5 and one["rows"][:same] == two["rows"][:same]
        assert self.text(".panel h2") == other.page.locator(".panel h2").inner_text()
        other.close()
        self.page.keyboard.press("Escape")

    def step_following_shows_commits_as_they_come(self):
        self.page.locator(".follow").click()
        self.tab.until("inspector.moment.isLive")
        self.tab.until("!location.hash.includes('at=')")
        for turn in range(3):
            self.served.commit(["put", "flights", f"new{turn}", {
                "flight": f"TR{turn}", "origin": "JFK", "dest": "MARS", "status": "scheduled",
                "scheduled": f"2013-01-0{turn + 1}T00:00:00-05:00", "delay": 0}])
            self.tab.until(
                "(text) => [...document.querySelectorAll('.rows .row .cell')]"
                ".some((cell) => cell.textContent === text)", f"TR{turn}")
        self.tab.until("document.querySelector('[data-part=parts]').textContent === '1 in'")
        assert re.search(r"ms$", self.text(".meter-time")), self.text(".meter-time")
        # A row that moves takes its element along.
        self.page.evaluate("""() => {
          inspector.kept = document.querySelector("#row-0");
          inspector.keptRow = inspector.kept.dataset.row;
        }""")
        row = self.served.ask("/v1/buckets/flights/rows/new0")["object"]
        self.served.commit(
            ["put", "flights", "new0", {**row, "scheduled": "2013-01-02T12:00:00-05:00"}])
        self.tab.until(
            "document.querySelector('[data-part=parts]').textContent.includes('1 moved')")
        kept = self.page.evaluate(
            "[inspector.kept.dataset.row === inspector.keptRow, inspector.kept.id]")
        assert kept == [True, "row-1"], kept
        self.served.commit(["delete", "flights", "new1"])
        self.tab.until(
            "document.querySelector('[data-part=parts]').textContent === '1 out'")
        self.expect_rows("JFK", "-0")

    def step_a_frozen_page_stands_still(self):
        self.page.locator(".follow").click()
        self.tab.until("!inspector.moment.isLive")
        frozen = self.tab.shown()
        newest = self.served.commit(["delete", "flights", "new2"])
        self.tab.until(f"inspector.moment.newest >= {newest}")
        self.page.wait_for_timeout(100)
        assert self.tab.shown()["rows"] == frozen["rows"]
        self.page.locator(".follow").click()
        self.tab.until(
            f"document.querySelector('.rows .grid').ariaRowCount == {frozen['total']}")
        self.expect_rows("JFK", newest)

    def step_the_log_shows_every_commit(self):
        self.view("Log")
        newest = self.served.ask("/v1/store")["commit"]
        self.page.wait_for_selector(f"#commit-{newest}:not(.waiting)")
        self.page.evaluate("document.querySelector('.grid.log').scrollTop = 1e9")
        self.page.wait_for_selector("#commit-1:not(.waiting)")
        assert "01-01" in self.text("#commit-1")
        # A commit that comes before the browser tells of a scroll does not undo that.
        self.page.evaluate("""() => {
          const { view } = inspector;
          const grow = view.grow.bind(view);
          view.grow = () => {
            if (view.newest < inspector.moment.newest) view.grid.scrollTop = 0;
            grow();
          };
        }""")
        further = self.served.commit(["touch", "flights", "new0"], note="a note")
        self.page.wait_for_selector(f"#commit-{further}:not(.waiting)")
        assert "a note" in self.text(f"#commit-{further}")
        self.page.locator(f"#commit-{further}").click()
        self.page.wait_for_selector(".panel .version")
        assert "new0" in self.text(".panel .version")
        self.shot("log")
        self.page.keyboard.press("Escape")

    def step_buckets_stand_at_the_moment_too(self):
        self.view("Buckets")
        for commit in [3000, 6000]:
            self.seek(commit)
            stored = self.served.ask(f"/v1/buckets/flights/rows?limit=20&at={commit}")["rows"]
            count = self.served.ask(f"/v1/store?at={commit}")["buckets"][0]["rows"]
            self.tab.until(
                "(text) => document.querySelector('[data-part=total]').textContent === text",
                f"{count:,} rows")
            self.tab.settle()
            keys = [self.text(f"#bucket-row-{rank} .cell") for rank in range(10)]
            assert keys == [row["key"] for row in stored[:10]], keys
        self.page.get_by_label("Keys that begin with").fill("20130106-D")
        self.tab.until(
            "document.querySelector('#bucket-row-0 .cell')?.textContent.startsWith('20130106-D')")
        self.page.locator("#bucket-row-0").click()
        self.page.wait_for_selector(".panel .version")
        self.page.keyboard.press("Escape")
        self.page.get_by_label("Keys that begin with").fill("")

    def step_two_moments_are_compared(self):
        self.view("Compare")
        self.page.get_by_label("Moment from").fill("5000")
        self.page.get_by_label("Moment to").fill("5010")
        self.page.get_by_role("button", name="Compare", exact=True).click()
        differences = self.served.ask("/v1/diff?from=5000&to=5010&limit=500")["differences"]
        self.tab.until(
            f"document.querySelectorAll('.differences > li').length === {len(differences)}")
        keys = self.page.locator(".differences .go").all_inner_texts()
        assert keys == [difference["key"] for difference in differences]
        self.shot("compare")
        self.page.get_by_role("button", name="Swap").click()
        self.tab.until(
            "document.querySelector('.summary').textContent.startsWith('Commit 5,010 to 5,000')")

    def step_statistics_and_holders(self):
        self.view("Stats")
        self.page.wait_for_selector(".card .plot")
        cards = dict(zip(self.page.locator(".card h3").all_inner_texts(),
                         self.page.locator(".card .figure").all_inner_texts()))
        assert cards["Rows"].replace(",", "") == str(self.served.ask("/v1/stats")["rows"]), cards
        assert "policy" in self.text(".card.wide table tbody")
        self.shot("stats")

    def step_back_and_forward(self):
        self.page.go_back()
        self.page.wait_for_selector(".differences")
        self.page.go_forward()
        self.page.wait_for_selector(".card")
        self.view("Indexes")
        self.tab.ready()

    def step_a_lost_connection_comes_back(self):
        self.page.evaluate("inspector.connection.socket.close()")
        self.page.wait_for_selector(".connection.lost")
        newest = self.served.commit(["delete", "flights", "new0"])
        self.page.wait_for_selector(".connection:not(.lost)")
        self.page.evaluate("inspector.moment.follow()")
        self.tab.until(f"inspector.moment.newest >= {newest}")
        self.page.wait_for_timeout(100)
        shown = self.tab.shown()
        assert shown["total"] == self.served.rows("departures", shown_group(shown), 0, 1, newest)[1]

    def step_an_index_of_more_groups_than_a_window_takes_is_read_in_pages(self):
        many.check(self.browser, self.store.parent)

    def step_long_histories_commits_and_differences_go_on(self):
        longer.check(self.browser, self.store.parent)

    def step_without_a_token_nothing_is_shown(self):
        context = self.browser.new_context()
        page = context.new_page()
        page.goto(self.served.url)
        page.wait_for_selector(".sign-in")
        page.get_by_label("Token").fill("wrong-token-000000")
        page.get_by_role("button", name="Show the store").click()
        page.wait_for_selector("text=The token is not valid")
        page.get_by_label("Token").fill(self.served.token)
        page.get_by_role("button", name="Show the store").click()
        page.wait_for_selector(".groups-list")
        context.close()

    def step_axe_finds_no_barrier(self):
        looks.barriers(self.browser, self.served)

    def step_the_panel_leaves_the_rows_their_place(self):
        looks.panel(self.browser, self.served, self.shots)

    def step_a_phone_shows_it_all(self):
        looks.phone(self.browser, self.served, self.shots)


def shown_group(shown):
    """The group of the rows in view."""
    return json.loads(shown["rows"][0]["id"])[0] if shown["rows"] else "JFK"
