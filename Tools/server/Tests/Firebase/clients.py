"""Drives the databases of treering-server with firebase-admin, firebasil and curl.

Usage: clients.py SERVER. The server is started on a fresh store, once as Firebase's emulator and
once without. Every check names the client and the behaviour; the first one that fails ends the run.
"""
import asyncio, json, os, queue, random, re, subprocess, sys, tempfile, threading, time

import firebase_admin
from firebase_admin import db, exceptions
from firebasil.exceptions import RtdbRequestException
from firebasil.rtdb import EventType, Rtdb, SizeLimit
from datetime import timedelta

RULES = {"rules": {
    ".read": True, ".write": True,
    "dinos": {".indexOn": ["height", "ratings/pos"]},
    "scores": {".indexOn": ".value"},
    "users": {"$uid": {".read": "auth.uid == $uid", ".write": "auth.uid == $uid",
                       "age": {".validate": "newData.isNumber()"}}},
    "closed": {".read": False},
}}
# Rules that grant above cannot be taken back below, so the closed parts have no grant above them.
RULES["rules"].pop(".read"), RULES["rules"].pop(".write")
for name in ["dinos", "scores", "list", "count", "stream", "fire", "tree", "random", "curl"]:
    RULES["rules"].setdefault(name, {}).update({".read": True, ".write": True})

DINOS = {
    "bruhathkayosaurus": {"height": 25, "ratings": {"pos": 4}},
    "lambeosaurus": {"height": 2.1, "ratings": {"pos": 5}},
    "linhenykus": {"height": 0.6, "ratings": {"pos": 1}},
    "pterodactyl": {"height": 0.6, "ratings": {"pos": 3}},
    "stegosaurus": {"height": 4, "ratings": {"pos": 2}},
    "triceratops": {"height": 3},
}
SCORES = {"a": 55, "b": "x", "c": True, "d": 12.5, "e": {"f": 1}, "10": -3, "9": 0}


class Server:
    """A server on a store."""

    def __init__(self, program, store, *options):
        self.process = subprocess.Popen(
            [program, store, "--write", "--port", "0", "--rtdb-keep-alive", "1", *options],
            stdout=subprocess.PIPE, text=True)
        self.store = store
        line = self.process.stdout.readline()
        self.port, self.token = re.match(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", line).groups()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            code = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert code == 0, f"the server ended with {code}"


def equal(found, expected, about):
    assert found == expected, f"{about}: found {found!r}, expected {expected!r}"


def refused(kind, about, body):
    try:
        body()
    except kind as error:
        return str(error)
    raise AssertionError(f"{about}: nothing was refused")


def wait(about, condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, f"{about}: it did not happen"
        time.sleep(0.005)


def fold(tree, event, path, data):
    """Applies an event to a tree of dictionaries, as Firebase's documentation describes it."""
    def put(tree, names, value):
        if not names:
            return value
        tree = dict(tree) if isinstance(tree, dict) else {}
        new = put(tree.get(names[0]), names[1:], value)
        tree.pop(names[0], None) if new is None else tree.__setitem__(names[0], new)
        return tree or None
    base = [name for name in path.split("/") if name]
    if event == "put":
        return put(tree, base, data)
    for name, value in data.items():
        tree = put(tree, base + [part for part in name.split("/") if part], value)
    return tree


# firebase-admin

def test_admin(server):
    app = firebase_admin.initialize_app(
        None, {"databaseURL": f"{server.url}/?ns=admin"}, name="admin")
    reference = lambda path="/": db.reference(path, app)
    client = reference()._client
    client.request("put", "/.settings/rules.json", json=RULES, params="format=strict")
    equal(client.body("get", "/.settings/rules.json", params="format=strict"), RULES, "admin rules")

    root = reference("dinos")
    equal(root.get(), None, "admin get of nothing")
    root.set(DINOS)
    equal(root.get(), DINOS, "admin set, get")
    equal(root.get(shallow=True), {name: True for name in DINOS}, "admin shallow")
    root.child("triceratops").update({"height": 3.5, "ratings/pos": 6})
    equal(root.child("triceratops/ratings/pos").get(), 6, "admin update of a deep path")
    root.child("triceratops").update({"height": 3, "ratings": None})
    by_height = lambda: root.order_by_child("height")
    equal(list(by_height().limit_to_last(2).get()), ["stegosaurus", "bruhathkayosaurus"], "admin last")
    equal(list(by_height().start_at(3).get()), ["triceratops", "stegosaurus", "bruhathkayosaurus"],
          "admin start_at")
    equal(list(by_height().equal_to(0.6).get()), ["linhenykus", "pterodactyl"], "admin equal_to")
    equal(list(by_height().end_at(2.1).limit_to_first(2).get()), ["linhenykus", "pterodactyl"],
          "admin end_at with a limit")
    equal(list(root.order_by_child("ratings/pos").limit_to_first(2).get()),
          ["triceratops", "linhenykus"], "admin order by a path, missing values first")
    equal(list(root.order_by_key().start_at("m").limit_to_first(1).get()), ["pterodactyl"],
          "admin order by key")
    scores = reference("scores")
    scores.set(SCORES)
    equal(list(scores.order_by_value().get()), ["c", "10", "9", "d", "a", "b", "e"],
          "admin order by value")
    equal(list(scores.order_by_value().start_at(12.5).get()), ["d", "a", "b", "e"],
          "admin value range with greater types")
    message = refused(exceptions.InvalidArgumentError, "admin without an index",
                      lambda: root.order_by_child("weight").equal_to(1).get())
    assert "Index not defined" in message, message

    value, tag = root.child("linhenykus").get(etag=True)
    equal(root.child("linhenykus").get_if_changed(tag), (False, None, None), "admin 304")
    equal(root.child("linhenykus").set_if_unchanged("no", {"height": 1})[0], False, "admin 412")
    done, _, after = root.child("linhenykus").set_if_unchanged(tag, {"height": 1})
    equal(done, True, "admin set_if_unchanged")
    equal(root.child("linhenykus").get_if_changed(tag), (True, {"height": 1}, after), "admin changed")

    count = reference("count")
    equal(count.transaction(lambda value: (value or 0) + 1), 1, "admin transaction on nothing")
    threads = [threading.Thread(target=lambda: [
        count.transaction(lambda value: value + 1) for _ in range(10)]) for _ in range(3)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    equal(count.get(), 31, "admin transactions at the same time")

    items = [reference("list").push(number) for number in range(5)] + [reference("list").push()]
    equal([item.key for item in items], sorted(item.key for item in items), "admin push order")
    equal(list(reference("list").order_by_key().get().values()), [0, 1, 2, 3, 4, ""], "admin push")
    reference("list").delete()
    equal(reference("list").get(), None, "admin delete")
    for bad in [lambda: reference("dinos").update({"a": 1, "a/b": 2}),
                lambda: reference("dinos").set({"a.b": 1})]:
        refused(exceptions.InvalidArgumentError, "admin bad data", bad)

    # Rules, by an override of the rules' auth.
    ann = firebase_admin.initialize_app(None, {
        "databaseURL": f"{server.url}/?ns=admin", "databaseAuthVariableOverride": {"uid": "ann"},
    }, name="ann")
    nobody = firebase_admin.initialize_app(None, {
        "databaseURL": f"{server.url}/?ns=admin", "databaseAuthVariableOverride": None,
    }, name="nobody")
    db.reference("users/ann", ann).set({"age": 30})
    for who, path, value in [(ann, "users/bob", {"age": 1}), (ann, "users/ann/age", "x"),
                             (nobody, "users/ann", {"age": 1}), (nobody, "elsewhere", 1)]:
        refused(exceptions.UnauthenticatedError, f"admin {path}",
                lambda: db.reference(path, who).set(value))
    equal(db.reference("users/ann", ann).get(), {"age": 30}, "admin rules allow")
    refused(exceptions.UnauthenticatedError, "admin read", db.reference("closed", nobody).get)

    events = queue.Queue()
    registration = reference("stream/users").listen(events.put)
    take = lambda: (lambda event: (event.event_type, event.path, event.data))(events.get(timeout=10))
    equal(take(), ("put", "/", None), "admin stream begins")
    pushed = reference("stream/users").push({"name": "Ann"})
    equal(take(), ("put", f"/{pushed.key}", {"name": "Ann"}), "admin stream put")
    reference("stream").update({"users/x/y": "Grüße, 世界 😀", "other": 1})
    equal(take(), ("patch", "/", {"x/y": "Grüße, 世界 😀"}), "admin stream patch")
    reference("stream").delete()
    equal(take(), ("put", "/", None), "admin stream of a delete above")
    registration.close()

    # A past state, by a parameter of this server.
    path = "/scores/a.json"
    first = int(client.headers("get", "/.json", params="") and subprocess_commit(server))
    reference("scores/a").set(1)
    equal(client.body("get", path, params=f"at={first}"), 55, "a past state")
    for application in [app, ann, nobody]:
        firebase_admin.delete_app(application)


def subprocess_commit(server):
    """The newest commit, by the server's own interface."""
    return json.loads(curl(server, "-H", f"Authorization: Bearer {server.token}", "/v1/store"))["commit"]


# firebasil

async def test_firebasil(server):
    async with Rtdb(server.url) as root:
        node = root / "fire"
        equal(await node.get(), None, "firebasil get of nothing")
        equal(await node.set({"a": {"n": 1}, "b": [1, 2, None, 4]}),
              {"a": {"n": 1}, "b": [1, 2, None, 4]}, "firebasil set")
        equal(await (node / "b").get(), [1, 2, None, 4], "firebasil array")
        equal(await node.update({"a/m": "é +&", "b": None}), {"a/m": "é +&", "b": None},
              "firebasil update")
        equal(await node.child("a", "m").get(), "é +&", "firebasil text")
        key = await node.push("")
        equal(await (node / key).get(), "", "firebasil push of an empty text")
        equal(await node.order_by_key().start_at("-").end_at("-zzz").get(), {key: ""},
              "firebasil range of keys")
        equal(await node.shallow().get(), {"a": True, key: True}, "firebasil shallow")
        await node.set({"x": {".value": 1, ".priority": 2}, "y": {".value": 2, ".priority": 1}})
        equal(await node.export_format().get(),
              {"x": {".value": 1, ".priority": 2}, "y": {".value": 2, ".priority": 1}},
              "firebasil export")
        equal(await node.order_by_priority().limit_to_first(1).get(), {"y": 2}, "firebasil priority")
        equal(await node.order_by_value().equal_to(1).get(), {"x": 1}, "firebasil value")
        text = "a +&=#%\"\\ ü"
        await node.update({"z": text})
        equal(await node.order_by_value().limit_to_last(1).get(), {"z": text}, "firebasil last text")
        equal(await node.order_by_value().start_at("a +&=#% ü".replace("\"", "")).get(), {}
              if text < "a +&=#% ü" else {"z": text}, "firebasil escapes")
        equal(await node.timeout(timedelta(seconds=3)).get(), {"x": 1, "y": 2, "z": text},
              "firebasil timeout")
        await node.write_size_limit(SizeLimit.tiny).set(1)
        for bad in [node._copy_with_params(cache="1").get(), (node / "a.b").set(1),
                    node.order_by_key().start_at(5).get(), node.timeout(timedelta(hours=1)).get()]:
            try:
                await bad
            except RtdbRequestException:
                continue
            raise AssertionError("firebasil: a bad request was answered")
        await node.delete()
        equal(await node.get(), None, "firebasil delete")
        await folded_streams(root)


async def folded_streams(root):
    """Random writes; each stream, folded, equals a fresh read."""
    seed = int(os.environ.get("SEED", int.from_bytes(os.urandom(2), "big")))
    print(f"streams by seed {seed}")
    chance = random.Random(seed)
    place = root / "random"
    views = [place, place / "a", place.order_by_key().limit_to_last(2),
             place.order_by_value().limit_to_first(2), place.order_by("n").start_at(2),
             place.order_by_key().start_at("b").end_at("d")]
    trees = [None] * len(views)
    contexts = [view.events() for view in views]
    queues = [await context.__aenter__() for context in contexts]
    count = [0]

    def drain():
        for index, events in enumerate(queues):
            while not events.empty():
                event = events.get_nowait()
                if event.event in (EventType.put, EventType.patch):
                    count[0] += 1
                    trees[index] = fold(trees[index], event.event.value, event.path, event.data)

    for turn in range(120):
        key = chance.choice("abcdef")
        value = chance.choice([None, 1, 2, 3.5, True, "s", {"n": chance.randint(0, 4), "m": "x"}])
        kind = chance.randrange(5)
        if kind < 2:
            # firebasil sends no body for null.
            await ((place / key).delete() if value is None else (place / key).set(value))
        elif kind == 2:
            await (place / key / "n").set(chance.randint(0, 4))
        elif kind == 3:
            await place.update({key: value, f"{chance.choice('ghi')}/n": chance.randint(0, 4)})
        else:
            await place.set({key: value, "a": {"n": 1}})
        if turn % 4:
            continue
        end = time.monotonic() + 10
        while True:
            drain()
            fresh = [await view.get() or None for view in views]
            if fresh == trees:
                break
            assert time.monotonic() < end, f"seed {seed}, turn {turn}: {trees} is not {fresh}"
            await asyncio.sleep(0.005)
    print(f"{count[0]} events")
    for context in contexts:
        await context.__aexit__(None, None, None)


# curl

def curl(server, *arguments):
    *options, target = arguments
    return subprocess.run(["curl", "-sg", "--max-time", "20", *options, server.url + target],
                          check=True, capture_output=True, text=True).stdout


def test_curl(server):
    c = lambda *arguments: curl(server, *arguments)
    equal(c("-X", "PUT", "-d", '{"a": {"n": 1}, "b": {"n": 2}}', "/curl.json"),
          '{"a": {"n": 1}, "b": {"n": 2}}', "curl put")
    equal(c('/curl.json?orderBy="n"&limitToLast=1'), '{"b":{"n":2}}', "curl raw query")
    equal(c("/curl.json?limitToLast=1&orderBy=%22%24key%22"), '{"b":{"n":2}}', "curl escaped query")
    equal(c("-X", "POST", "-H", "X-HTTP-Method-Override: DELETE", "/curl/a.json"), "null", "override")
    head = c("-i", "-H", "x-firebase-etag: TRUE", "/nothing.json").lower()
    assert "etag: null_etag" in head and "content-length: 4" in head, head
    status = lambda *arguments: c("-o", "/dev/null", "-w", "%{http_code}", *arguments)
    for expected, arguments in [
        ("200", ["/curl/.json"]), ("204", ["/curl.json?print=silent"]), ("404", ["/curl"]),
        ("400", ["/curl.json?_=123"]), ("400", ["-X", "PUT", "-d", "{", "/curl.json"]),
        ("412", ["-X", "PUT", "-d", "1", "-H", "if-match: x", "/curl.json"]),
        ("401", ["-X", "PUT", "-d", "1", "/.info/connected.json"]), ("401", ["/a.json?auth=x"]),
        ("421", ["-H", "Host: example.org", "/curl.json"]),
        ("403", ["-H", "Origin: http://example.org", "/curl.json"]),
        ("405", ["-X", "TRACE", "/curl.json"]),
    ]:
        equal(status(*arguments), expected, f"curl {arguments}")
    # Eight writes that follow each other on one connection.
    targets = [part for number in range(8) for part in (f"{server.url}/curl/k{number}.json",)]
    out = subprocess.run(["curl", "-sg", "-X", "PUT", "-d", "1", *targets], capture_output=True,
                         text=True, check=True).stdout
    equal(out, "1" * 8, "curl kept connection")


def test_closed(server):
    """Without the emulator's manners: everything needs a token until there are rules."""
    status = lambda *arguments: curl(server, "-o", "/dev/null", "-w", "%{http_code}", *arguments)
    bearer = ["-H", f"Authorization: Bearer {server.token}"]
    equal(status("/a.json"), "401", "closed without rules")
    equal(status("-H", "Authorization: Bearer owner", "/a.json"), "401", "owner is nobody")
    equal(status("-X", "PUT", "-d", "1", *bearer, "/a.json"), "200", "the server's token")
    equal(status(f"/a.json?auth={server.token}"), "200", "the token as a parameter")
    equal(status("-X", "PUT", "-d", '{"rules": {".read": true}}', *bearer,
                 "/.settings/rules.json"), "200", "rules")
    equal(status("/a.json"), "200", "open by rules")
    equal(status("-X", "PUT", "-d", "2", "/a.json"), "401", "closed for writes")
    log = subprocess.run(
        [sys.argv[2], "log", server.store], capture_output=True, text=True, check=True).stdout
    assert "PUT /a" in log and "PUT /.settings/rules.json" in log, log


def main():
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        with Server(sys.argv[1], f"{folder}/open.ring", "--rtdb-emulator") as server:
            for test in [test_admin, test_firebasil, test_curl]:
                begin = time.monotonic()
                result = test(server)
                if asyncio.iscoroutine(result):
                    asyncio.run(result)
                print(f"{test.__name__}: {time.monotonic() - begin:.1f} s")
        with Server(sys.argv[1], f"{folder}/closed.ring", "--rtdb") as server:
            test_closed(server)
    print(f"all clients: {time.monotonic() - start:.1f} s")


main()
