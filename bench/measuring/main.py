"""The command line of the benchmarks."""

import argparse
import os
import platform
import shlex
import subprocess
import sys
from datetime import date

from . import against, first_run, instructions, nothing_changed, scale
from .surroundings import ROOT, WORK, Missing, binary

BENCHMARKS = {
    "first-run": first_run.run,
    "nothing-changed": nothing_changed.run,
    "scale": scale.run,
    "against": against.run,
    "instructions": instructions.run,
}


def main():
    arguments = parse()
    # Also into a file or a pipe one sees how far it is.
    sys.stdout.reconfigure(line_buffering=True)
    WORK.mkdir(parents=True, exist_ok=True)
    alone = [name for name in BENCHMARKS if name != "against"]
    names = alone if arguments.what == "all" else [arguments.what]
    try:
        tamis = binary(arguments.tamis)
        print_machine(tamis)
        for name in names:
            BENCHMARKS[name](tamis, arguments)
    except Missing as missing:
        print(f"bench: {missing}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"bench: {failed}", file=sys.stderr)
        return 1
    print(f"\nload at the end: {load()}")
    print(f"to repeat: {shlex.join(['bench/run', *sys.argv[1:]])}")
    return 0


def parse():
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Measures tamis. Writes below bench/work only; installs nothing.",
    )
    parser.add_argument("what", choices=[*BENCHMARKS, "all"])
    parser.add_argument("--tamis", help="the binary [default: target/release/tamis]")
    parser.add_argument("--against", help="against, instructions: another build, measured in turn with this one")
    parser.add_argument("--write", action="store_true", help="instructions: accept what is counted now")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each kind (default: 7)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=first_run.NAMES,
        help="first-run: this workload only (may be given several times)",
    )
    parser.add_argument(
        "--engine",
        action="append",
        default=[],
        help="first-run: this engine only [default: all that work here]",
    )
    parser.add_argument("--no-strace", action="store_true", help="first-run: leave strace out")
    return parser.parse_args()


def print_machine(tamis):
    kernel = platform.release()
    version = subprocess.run([tamis, "--version"], capture_output=True, text=True, check=True)
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    print(f"{date.today()}, {version.stdout.strip()} {commit.stdout.strip()}")
    print(f"{processor()}, {os.cpu_count()} cores, Linux {kernel}; load at the start: {load()}")


def processor():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def load():
    return " ".join(f"{x:.1f}" for x in os.getloadavg())
