"""Instructions of tamis itself on a few fixed inputs, counted by valgrind: a slow-down shows on a busy machine, too.

The counts of the last accepted build are in bench/instructions.json; `--write` accepts those of now. They depend on the
compiler and the C library, so a machine that differs has to write its own first. With `--against BINARY` another build
is counted in the same run, and nothing has to be accepted. Programs that tamis starts are not counted.
"""

import json
import re
import subprocess

from .clock import table
from .surroundings import ROOT, WORK, Missing, binary, environment, once, remove, tool

ACCEPTED = ROOT / "bench" / "instructions.json"
#: More than this is reported as a slow-down. The same build differs by less than a hundredth.
MOST = 1.03
TESTS = 200
INPUTS = 100
FILES = 2_000

SETTINGS = """
[[suite]]
name = "few"
each = "lists/*.txt"
run = "xargs -a {} cat"
"""
ONE = ["xargs", "-a", "lists/100.txt", "cat"]
#: What is counted: a name, words behind tamis, and whether it is a first run.
WORK_COUNTED = [
    ("version", ["--version"], False),
    ("nothing changed, one command", ["-q", *ONE], False),
    ("nothing changed, 200 tests", ["select", "-q"], False),
    ("why", ["why", "few::lists/100.txt"], False),
    ("first run of one command, notify", ["-q", "--engine", "notify", *ONE], True),
]


def run(tamis, arguments):
    if not tool("valgrind"):
        raise Missing("valgrind is missing")
    folder = once(WORK / "projects" / "few", make)
    (folder / "tamis.toml").write_text(SETTINGS)
    now = counts("new", tamis, folder)
    if arguments.against:
        return show(counts("old", binary(arguments.against), folder), now)
    if arguments.write or not ACCEPTED.exists():
        ACCEPTED.write_text(json.dumps(now, indent=2) + "\n")
        print(f"wrote {ACCEPTED.relative_to(ROOT)}")
    if show(json.loads(ACCEPTED.read_text()), now):
        raise subprocess.CalledProcessError(1, ["more instructions than accepted"])


def counts(name, tamis, folder):
    cache = WORK / "cache" / f"instructions-{name}"
    remove(cache)
    variables = environment(cache, RAYON_NUM_THREADS="1")
    # By valgrind, too: it adds variables, and a variable that is new lets every test run.
    for words in ([tamis, "-q"], [tamis, "-q", *ONE]):
        count(words, folder, variables)
    found = {}
    for label, words, anew in WORK_COUNTED:
        if anew:
            variables = environment(WORK / "cache" / f"instructions-first-{name}", RAYON_NUM_THREADS="1")
            remove(WORK / "cache" / f"instructions-first-{name}")
        found[label] = count([tamis, *words], folder, variables)
    return found


def count(words, folder, variables):
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no"]
    done = subprocess.run(
        [*valgrind, *words], cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    collected = re.findall(r"Collected : (\d+)", done.stderr)
    if not collected:
        raise Missing(f"valgrind counted nothing:\n{done.stderr[-800:]}")
    # A process that tamis forks prints its own; the largest is that of tamis.
    return max(map(int, collected))


def show(old, now):
    """Prints both; whether anything takes more than it may."""
    rows, slower = [], False
    for label, new in now.items():
        before = old.get(label)
        ratio = new / before if before else 1.0
        slower |= ratio > MOST
        was = f"{before / 1e6:.2f} M" if before else "-"
        rows.append([f"  {label}", was, f"{new / 1e6:.2f} M", f"{ratio:.3f}", "MORE" if ratio > MOST else ""])
    table(["instructions", "old", "new", "ratio", ""], rows)
    return slower


def path(n):
    return f"files/package{n // 40}/file{n}.txt"


def make(folder):
    for n in range(FILES):
        file = folder / path(n)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{n}\n" * 50)
    (folder / "lists").mkdir()
    for test in range(TESTS):
        lines = "".join(path((test * 7 + n * 3) % FILES) + "\n" for n in range(INPUTS))
        (folder / "lists" / f"{test:03}.txt").write_text(lines)
