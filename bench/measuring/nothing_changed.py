"""Nothing changed: how long tamis takes to say so, end to end, with a warm cache.

The records come from real runs: each test reads the files of a list with `cat`.
"""

import os
import random
import shlex
import subprocess
import time

from .clock import Summary, measure, table
from .surroundings import WORK, environment, once

TESTS = 1_000
INPUTS = 1_000
FILES = 50_000
#: Files that every test reads, as it is with libraries and tools.
CORE = 300
#: Neighbours that are read together, as it is with the files of a folder.
STRETCH = 20


def run(tamis, arguments):
    print(f"\n== nothing changed: {TESTS:,} tests x {INPUTS:,} inputs over {FILES:,} files")
    folder = once(WORK / "projects" / "many", make)
    (folder / "tamis.toml").write_text(SETTINGS)
    variables = environment(WORK / "cache" / "many")
    record(tamis, folder, variables)
    suite = [tamis, "select", "--quiet"]
    words = ["xargs", "-a", "lists/0500.txt", "cat"]
    rounds = max(arguments.rounds, 20)
    rows = []
    for label, command, target in [
        (f"{TESTS:,} tests: tamis select --quiet", suite, 0.150),
        (f"one command of {INPUTS:,} inputs: tamis COMMAND", [tamis, "-q", *words], 0.015),
        ("the same: tamis select --quiet COMMAND", [*suite, *words], 0.015),
        ("for comparison: tamis --version", [tamis, "--version"], None),
        ("for comparison: true", ["true"], None),
    ]:
        measure(command, folder, variables)
        samples = [measure(command, folder, variables) for _ in range(rounds)]
        wall = Summary.of([s.wall for s in samples])
        cpu = Summary.of([s.cpu for s in samples])
        if target is None:
            verdict = ""
        else:
            verdict = f"<= {ms(target)}: " + ("met" if wall.median <= target else "MISSED")
        rows.append(
            [
                f"  {label}",
                ms(wall.median),
                f"{ms(wall.least)}..{ms(wall.most)}",
                ms(cpu.median),
                ms(cpu.least),
                verdict,
            ]
        )
    table(["", "wall, median", "min..max", "cpu, median", "min", "target"], rows)


SETTINGS = """
[[suite]]
name = "many"
each = "lists/*.txt"
run = "xargs -a {} cat"
"""


def ms(seconds):
    return f"{seconds * 1000:.1f} ms"


def path(n):
    return f"files/module{n // 1000}/package{n // 30}/file{n}.txt"


def make(folder):
    for n in range(FILES):
        file = folder / path(n)
        if n % 30 == 0 or n % 1000 == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{n}\n" * 50)
    (folder / "lists").mkdir()
    # Each needs a few inputs besides the files: the list, programs, libraries.
    wanted = INPUTS - 20
    for test in range(TESTS):
        chosen = random.Random(test)
        inputs = set(range(CORE))
        while len(inputs) < wanted:
            start = chosen.randrange(FILES)
            more = range(start, min(start + STRETCH, FILES))
            inputs.update(list(more)[: wanted - len(inputs)])
        lines = "".join(path(n) + "\n" for n in sorted(inputs))
        (folder / "lists" / f"{test:04}.txt").write_text(lines)


def record(tamis, folder, variables):
    """Runs what is not recorded yet. An unaffected suite costs a moment."""
    words = ["xargs", "-a", "lists/0500.txt", "cat"]
    for command in ([tamis, "-q"], [tamis, "-q", *words]):
        began = time.perf_counter()
        # The cache takes only files whose last change is a while ago.
        if time.time() - os.stat(folder / "lists").st_mtime < 3:
            time.sleep(3)
        done = subprocess.run(
            command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        done.check_returncode()
        shown = shlex.join([os.path.basename(command[0]), *command[1:]])
        print(f"recorded by `{shown}` in {time.perf_counter() - began:.1f} s")
    said = subprocess.run(
        [tamis, "deps", "--plain", "many::lists/0500.txt"],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    print(f"inputs of one test: {len(said.stdout.splitlines())} paths")
