"""A store with its server, for tests of the page: made with the tool, asked over HTTP."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[4]
FIXTURE = ROOT / "Tests/Fixtures/flights-2013-week1.jsonl.lz4"
TOOL = os.environ.get("TREERING", str(ROOT / ".build-tests/debug/treering"))
SERVER = os.environ.get("TREERING_SERVER", str(ROOT / ".build-tests/debug/treering-server"))


def tool(*arguments, text=None):
    """Runs the tool and returns its output."""
    done = subprocess.run(
        [TOOL, *map(str, arguments)], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"treering {arguments}: {done.stderr}")
    return done.stdout


BOARD = {
    "bucket": "flights", "group": "origin", "order": ["scheduled", "flight"], "version": 1,
    "where": {"status": ["scheduled", "delayed", "cancelled"]}}


def flights(store, source=FIXTURE):
    """Imports flights, with a departures board as old as they are, and two tags."""
    definition = {"at": "2013-01-01T00:00:00-05:00", "ops": [["index", "departures", BOARD]]}
    tool("import", store, text=json.dumps(definition) + "\n")
    tool("import", store, source)
    tool("tag", store, "first-noon", "2013-01-01T12:00:00-05:00")
    tool("tag", store, "sunday", "2013-01-06T12:00:00-05:00")


class Served:
    """A running server."""

    def __init__(self, store, *options):
        self.process = subprocess.Popen(
            [SERVER, str(store), "--port", "0", *options], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        self.url, _, self.token = line.partition("#token=")
        self.host = urllib.parse.urlsplit(self.url).netloc
        self.connection = http.client.HTTPConnection(self.host)

    def ask(self, target, body=None):
        """The JSON of an answer; an error is an answer too."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        self.connection.request("GET" if body is None else "POST", target, body, headers)
        return json.loads(self.connection.getresponse().read())

    def commit(self, *operations, **fields):
        """Writes a commit and returns its number."""
        answer = self.ask("/v1/commits", {"ops": operations, **fields})
        if "commit" not in answer:
            raise AssertionError(answer)
        return answer["commit"]

    def rows(self, index, group, first, count, at):
        """The rows of a range of a group, and the number of its rows."""
        name = urllib.parse.quote(group, safe="")
        target = f"/v1/indexes/{index}/groups/{name}/rows?range=fixed:{count}:{first}&limit=1000"
        answer = self.ask(f"{target}&at={at}")
        return answer.get("rows", []), answer.get("count", 0)

    def stop(self):
        """Ends the server, and waits for it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
