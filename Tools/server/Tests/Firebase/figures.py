"""Measures the databases of treering-server: writes, queries and streams over one connection, and
writes and events over two WebSockets of the SDKs' protocol.

Usage: figures.py SERVER [CHILDREN]. Prints medians and 99th percentiles in milliseconds.
"""
import base64, http.client, json, os, re, socket, subprocess, sys, tempfile, time

children = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000


def percentiles(name, times):
    times = sorted(time * 1000 for time in times)
    print(f"{name}: p50 {times[len(times) // 2]:.2f} ms, p99 {times[len(times) * 99 // 100]:.2f} ms")


def main():
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.argv[1], f"{folder}/s.ring", "--write", "--port", "0", "--rtdb-emulator"],
            stdout=subprocess.PIPE, text=True)
        try:
            measure(int(re.search(r":(\d+)/", process.stdout.readline()).group(1)))
        finally:
            process.terminate()
            process.wait(15)


def measure(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(method, path, body=None):
        start = time.perf_counter()
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Authorization": "Bearer owner"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return time.perf_counter() - start, json.loads(text)

    value = lambda number: {"n": number * 7919 % children, "m": number, "t": "text"}
    ask("PUT", "/.settings/rules.json", {"rules": {
        ".read": True, ".write": True, "list": {".indexOn": ["n"]}}})
    for start in range(0, children, 5_000):
        ask("PATCH", "/list.json",
            {f"k{number}": value(number) for number in range(start, min(start + 5_000, children))})
    writes = [ask("PUT", f"/list/k{number}/t.json", str(number))[0] for number in range(2_000)]
    percentiles("PUT of a leaf, durable", writes)
    reads = [ask("GET", f"/list/k{number}.json")[0] for number in range(2_000)]
    percentiles("GET of a child of three leaves", reads)
    last = "/list.json?orderBy=%22{}%22&limitToLast=10"
    indexed = [ask("GET", last.format("n")) for _ in range(200)]
    assert sorted(child["n"] for child in indexed[0][1].values()) == list(range(children - 10, children))
    percentiles(f"the last 10 of {children} children by index", [time for time, _ in indexed])
    first = [ask("GET", "/list.json?orderBy=%22n%22&limitToFirst=10") for _ in range(10)]
    percentiles(f"the first 10 of {children}, which scans", [time for time, _ in first])
    by_key = "/list.json?orderBy=%22$key%22&startAt=%22k3%22&limitToFirst=10"
    keys = [ask("GET", by_key)[0] for _ in range(200)]
    percentiles("ten children by key", keys)

    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(
        f"GET /list/k1.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n".encode())
    received = b""
    def receive(part):
        nonlocal received
        while part not in received:
            received += stream.recv(1 << 16)
        received = received.split(part, 1)[1]
    receive(b"event: put")
    delays = []
    for number in range(500):
        time.sleep(0.002)
        connection.request("PUT", "/list/k1/t.json", f'"e{number}"', {"Authorization": "Bearer owner"})
        start = time.perf_counter()
        receive(f'"e{number}"'.encode())
        delays.append(time.perf_counter() - start)
        connection.getresponse().read()
    percentiles("PUT sent to its event received", delays)
    sockets(port)


class Socket:
    """A WebSocket of the SDKs' protocol, with short messages."""

    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port))
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.stream.makefile("rb")
        self.number = 0
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET /.ws?v=5 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode())
        assert b" 101 " in self.file.readline()
        while self.file.readline() != b"\r\n":
            pass
        assert self.receive()["d"]["t"] == "h"

    def send(self, action, body):
        self.number += 1
        request = {"r": self.number, "a": action, "b": body}
        text = json.dumps({"t": "d", "d": request}).encode()
        # A mask of zeros leaves the text as it is.
        head = bytes([0x81, 0xFE]) + len(text).to_bytes(2, "big") + bytes(4)
        self.stream.sendall(head + text)

    def receive(self):
        while True:
            opcode, length = self.file.read(2)
            if length == 126:
                length = int.from_bytes(self.file.read(2), "big")
            payload = self.file.read(length)
            if opcode == 0x81:
                return json.loads(payload)

    def answer(self):
        """Reads on to the answer to the last request."""
        while (message := self.receive()["d"]).get("r") != self.number:
            pass
        assert message["b"]["s"] == "ok", message


def sockets(port):
    writer, reader = Socket(port), Socket(port)
    reader.send("q", {"p": "/list/k2", "h": ""})
    reader.answer()
    answers, events = [], []
    for number in range(2_000):
        time.sleep(0.002)
        start = time.perf_counter()
        writer.send("p", {"p": "/list/k2/t", "d": f"w{number}"})
        event = reader.receive()
        events.append(time.perf_counter() - start)
        writer.answer()
        answers.append(time.perf_counter() - start)
        assert event["d"]["b"] == {"p": "list/k2/t", "d": f"w{number}"}, event
    percentiles("WebSocket: put sent to its event received by another client", events)
    percentiles("WebSocket: put sent to its answer, durable", answers)


main()
