"""Two builds of tamis in turn, on the same projects: is the newer one slower?

Each has its own store and cache, because their formats may differ. The ratio is that of the medians; on a busy
machine the least CPU time is the better witness, so both are printed.
"""

from .clock import Summary, measure, table
from .nothing_changed import SETTINGS, make, record
from .surroundings import WORK, Missing, binary, environment, once, remove

ONE = ["xargs", "-a", "lists/0500.txt", "cat"]


def run(tamis, arguments):
    if not arguments.against:
        raise Missing("name the other build: --against BINARY")
    builds = {"old": binary(arguments.against), "new": tamis}
    folder = once(WORK / "projects" / "many", make)
    (folder / "tamis.toml").write_text(SETTINGS)
    caches = {name: WORK / "cache" / f"against-{name}" for name in builds}
    for name, build in builds.items():
        print(f"\n== {name}: {build}")
        record(build, folder, environment(caches[name]))
    first = {name: WORK / "cache" / f"against-first-{name}" for name in builds}
    rounds = max(arguments.rounds, 15)
    rows = [
        row("tamis --version", builds, lambda build: [build, "--version"], caches, folder, rounds),
        row("nothing changed, 1,000 tests", builds, lambda build: [build, "select", "-q"], caches, folder, rounds),
        row("nothing changed, one command", builds, lambda build: [build, "-q", *ONE], caches, folder, rounds),
        row("first run of one command", builds, lambda build: [build, "-q", *ONE], first, folder, rounds, anew=True),
    ]
    table(["", "old, median cpu", "new", "ratio", "old, least cpu", "new", "ratio"], rows)


def row(label, builds, words, caches, folder, rounds, anew=False):
    cpu = {name: [] for name in builds}
    for _ in range(rounds):
        for name, build in builds.items():
            if anew:
                remove(caches[name])
            cpu[name].append(measure(words(build), folder, environment(caches[name])).cpu)
    old, new = (Summary.of(cpu[name]) for name in ("old", "new"))
    cells = [f"  {label}"]
    for a, b in [(old.median, new.median), (old.least, new.least)]:
        cells += [f"{a * 1000:.1f} ms", f"{b * 1000:.1f} ms", f"{b / a:.2f}"]
    return cells
