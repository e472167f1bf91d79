"""Scale: deciding about 100,000 tests, without the time to look at files."""

import re
import subprocess

from .clock import table
from .surroundings import ROOT, WORK, Missing, tool

LINE = re.compile(
    r"all tests, +(\d+) changed: median ([\d.]+) ms, best ([\d.]+) ms, cpu ([\d.]+) ms; (\d+) to run"
)


def run(_tamis, _arguments):
    print("\n== scale: 100,000 tests x 1,000 inputs over 200,000 questions, answers from memory")
    words = ["cargo", "run", "--release", "-q", "-p", "tamis-store", "--example", "decide_bench"]
    if not tool("cargo"):
        raise Missing("cargo is missing; install Rust from https://rustup.rs")
    store = WORK / "store-large"
    said = subprocess.run(
        [*words, "--", "large", store], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    rows = []
    for line in said.splitlines():
        found = LINE.search(line)
        if not found:
            print(line)
            continue
        changed, median, best, cpu, to_run = found.groups()
        met = "met" if float(median) < 1000 else "MISSED"
        row = [f"  {int(changed):,} questions changed", f"{int(to_run):,}", f"{median} ms"]
        rows.append([*row, f"{best} ms", f"{cpu} ms", f"< 1 s: {met}"])
    table(["", "tests to run", "wall, median", "best", "cpu, median", "target"], rows)
