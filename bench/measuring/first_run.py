"""First-run cost: CPU time of a command with and without tamis, fingerprints included.

Each round runs every variant once, in another order each time; a ratio is that of two runs of one
round, so that what disturbs the machine for longer than a round disturbs both. Printed are the
median of the ratios and how far they lie apart.
"""

import random
import statistics
import subprocess

from . import workloads
from .clock import Summary, measure, table
from .surroundings import WORK, environment, remove, tool

NAMES = list(workloads.ALL)


def run(tamis, arguments):
    print("\n== first run: CPU time (user + sys, whole tree and tracer), ratio to the bare command")
    engines = arguments.engine or working_engines(tamis)
    strace = None if arguments.no_strace else tool("strace")
    if not strace and not arguments.no_strace:
        print("strace is not installed: left out")
    for name in arguments.only or NAMES:
        workload = workloads.ALL[name]
        missing = [t for t in workload.needs if not tool(t)]
        missing += workload.missing_modules()
        if missing:
            print(f"\n{name}: left out, not installed: {', '.join(missing)}")
            continue
        one(tamis, name, workload, engines, strace, arguments.rounds)


def working_engines(tamis):
    said = subprocess.run(
        [tamis, "doctor"],
        capture_output=True,
        text=True,
        env=environment(WORK / "cache" / "doctor"),
        cwd=WORK,
    )
    lines = [line for line in said.stdout.splitlines() if line.startswith("engine")]
    return [line.split()[1].rstrip(":") for line in lines if ": works" in line]


class Variant:
    """A way to run the command."""

    def __init__(self, label, prefix, cache, cold=False):
        self.label, self.prefix, self.cache, self.cold = label, prefix, cache, cold
        self.samples = []

    def run(self, workload, folder):
        if self.cold:
            remove(self.cache)
        workload.reset(folder)
        words = [*self.prefix, *workload.words]
        more = workload.variables(folder)
        return measure(words, folder, environment(self.cache, **more))


def variants(tamis, name, engines, strace):
    found = [Variant("bare", [], WORK / "cache" / "bare")]
    for engine in engines:
        for state in ("cold", "warm"):
            cache = WORK / "cache" / f"{name}-{engine}-{state}"
            prefix = [tamis, "--all", "--quiet", "--engine", engine]
            label = f"tamis, {engine}, {state} cache"
            found.append(Variant(label, prefix, cache, cold=state == "cold"))
    if strace:
        prefix = [strace, "-f", "-o", "/dev/null", "-e", "trace=%file"]
        found.append(Variant("strace -f -e trace=%file", prefix, WORK / "cache" / "bare"))
    return found


def one(tamis, name, workload, engines, strace, rounds):
    folder = workload.generate()
    print(f"\n{name}: {workload.title}")
    tried = variants(tamis, name, engines, strace)
    for variant in tried:
        # Fills caches: the kernel's, the tools' and, for the warm variants, tamis's.
        variant.run(workload, folder)
    shuffle = random.Random(1)
    for _ in range(rounds):
        order = tried[:]
        shuffle.shuffle(order)
        for variant in order:
            variant.samples.append(variant.run(workload, folder))
    bare = [s.cpu for s in tried[0].samples]
    rows = []
    for variant in tried:
        ratio = Summary.of([s.cpu / b for s, b in zip(variant.samples, bare)])
        cpu = Summary.of([s.cpu for s in variant.samples])
        wall = statistics.median(s.wall for s in variant.samples)
        rows.append(
            [
                f"  {variant.label}",
                f"{cpu.median:.3f} s",
                f"{cpu.least:.3f}..{cpu.most:.3f}",
                f"{wall:.3f} s",
                f"{ratio.median:.2f}",
                f"{ratio.least:.2f}..{ratio.most:.2f}",
                f"{cpu.least / min(bare):.2f}",
            ]
        )
    head = ["", "cpu, median", "min..max", "wall", "ratio", "min..max", "of minima"]
    table(head, rows)
