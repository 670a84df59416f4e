"""Tests of the inspector in headless Chromium.

    run.py [--short] [--seed N] [--turns N] [--shots FOLDER]
           [--figures [NAME…]] [--year FILE]
"""

import argparse
import pathlib
import random
import tempfile
import time

import figures
import model
from browser import chromium
from features import Features


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="200 turns of the model, no figures")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--turns", type=int)
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for pictures")
    parser.add_argument("--figures", nargs="*", metavar="NAME",
                        help="only the figures, or some: latency burst million slider")
    parser.add_argument("--year", type=pathlib.Path, help="flights to move the slider over")
    return parser.parse_args()


def timed(name, body):
    """Runs a part, and prints its sentence with its time."""
    start = time.monotonic()
    print(f"{body()} ({name}: {time.monotonic() - start:.1f} s)", flush=True)


def main():
    """Runs the parts."""
    wanted = arguments()
    print(f"seed {wanted.seed}", flush=True)
    if wanted.shots:
        wanted.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="treering-inspector-") as name, chromium() as browser:
        folder = pathlib.Path(name)
        if wanted.figures is None:
            turns = wanted.turns or (200 if wanted.short else 1000)
            timed("features", Features(browser, folder, wanted.shots).run)
            timed("model", lambda: model.run(browser, folder, wanted.seed, turns))
        if wanted.short:
            return
        shots, source = wanted.shots, wanted.year or figures.FIXTURE
        parts = {
            "latency": lambda: figures.latency(browser, folder, 400),
            "burst": lambda: figures.burst(browser, folder, shots),
            "million": lambda: figures.million(browser, folder, shots),
            "slider": lambda: figures.slider(browser, folder, source, 50, shots),
        }
        for name in wanted.figures or parts:
            timed(name, parts[name])


main()
