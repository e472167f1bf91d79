#!/usr/bin/env python3
"""Explains every test class that one of STARTS and tamis selects and the other does not.

    explain.py WORK

WORK is the folder of one run of compare.sh. For a test that only STARTS selects: it is abstract (it
runs no tests of its own), or all changed types that it reaches are ones that tamis calls unchanged.
That claim is checked with javap: the members of both versions, with their code and without numbers of
constants, must be the same set. For a test that only tamis selects: tamis's own explanation.
"""
import json
import pathlib
import re
import subprocess
import sys

work = pathlib.Path(sys.argv[1])
javap = sys.argv[2] if len(sys.argv) > 2 else "javap"


def lines(name):
    return [line for line in (work / name).read_text().splitlines() if line]


def members(root, name):
    """The members of a class as javap prints them, each with its code, sorted."""
    file = next((p for p in (root / "classes", root / "test-classes")
                 if (p / (name.replace(".", "/") + ".class")).exists()), None)
    if file is None:
        return None
    text = subprocess.run([javap, "-p", "-c", "-constants", "-cp", str(file), name],
                          capture_output=True, text=True, check=True).stdout
    text = re.sub(r"#\d+(, +\d+)?", "#", text)
    text = re.sub(r"^Compiled from .*$", "", text, flags=re.M)
    # javac widens the load of a constant with a high number, which moves what follows.
    text = text.replace("ldc_w ", "ldc ")
    text = re.sub(r"[ ]+", " ", text)
    blocks = text.strip().removesuffix("}").split("\n\n")
    head, _, first = blocks[0].partition("\n")
    # Fields stand one a line, without a blank line between them.
    loose = [line for block in [first, *blocks[1:]] if "Code:" not in block for line in block.split("\n")]
    code = [block for block in [first, *blocks[1:]] if "Code:" in block]
    fields = []
    for i, block in enumerate(code):
        rows = block.strip("\n").split("\n")
        at = next(j for j, row in enumerate(rows) if row.strip() == "Code:")
        fields += rows[:at - 1]
        code[i] = "\n".join(rows[at - 1:])
    return head, sorted(line for line in loose + fields if line.strip()), sorted(code)


def reached():
    """Types that each test reaches on the old revision, from tamis's export."""
    tests = {}
    for line in lines("deps-tamis.zlc")[1:]:
        url, _, names = (line + " ").split(" ", 2)
        name = re.sub(r"^.*?classes/|\.class$", "", url).replace("/", ".")
        for test in names.strip().split(","):
            tests.setdefault(test, set()).add(name)
    return tests


changes = {c["name"]: c["change"] for c in json.loads(lines("diff.json")[0])["changes"]}
silent = {name for name, change in changes.items() if change in ("only-debug", "only-order")}
types = reached()
explained = {line.split()[1]: line for line in lines("explained-code") if line.startswith("run")}
starts, tamis = set(lines("starts-selected")), set(lines("tamis-code"))
proven = {}
for test in sorted(starts - tamis):
    simple = (work / "new" / "test-classes" / (test.replace(".", "/") + ".class"))
    flags = subprocess.run([javap, "-cp", str(work / "new" / "test-classes"), test],
                           capture_output=True, text=True).stdout if simple.exists() else ""
    if " abstract class " in flags:
        print(f"only STARTS: {test}: abstract, runs no tests of its own")
        continue
    loud = sorted(t for t in types.get(test, ()) if t in changes and t not in silent)
    quiet = sorted(t for t in types.get(test, ()) if t in silent)
    for name in quiet:
        if name not in proven:
            proven[name] = members(work / "old", name) == members(work / "new", name)
    if loud:
        print(f"only STARTS: {test}: NOT EXPLAINED, reaches {', '.join(loud)}")
    elif quiet and all(proven[name] for name in quiet):
        print(f"only STARTS: {test}: reaches {', '.join(quiet)}, each with the same members and code")
    else:
        wrong = [name for name in quiet if not proven[name]]
        print(f"only STARTS: {test}: NOT EXPLAINED, javap differs for {', '.join(wrong) or 'nothing'}")
for test in sorted(tamis - starts):
    print(f"only tamis (code alone): {explained.get(test, test)}")
files = sorted(set(lines("tamis-selected")) - tamis)
if files:
    print(f"only with resources: {len(files)} test classes, for changed files that STARTS does not look at")
