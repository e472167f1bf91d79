"""Measures processes. CPU time is user + system of the process and of all its descendants that
were waited for, the tracer included; it is what `wait4` says at the end."""

import os
import statistics
import subprocess
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    cpu: float
    wall: float


def measure(words, folder, environment, expected=0):
    """Runs the command once. Its output is dropped."""
    null = os.open(os.devnull, os.O_RDWR)
    here = os.getcwd()
    os.chdir(folder)
    try:
        program = words[0] if "/" in words[0] else find(words[0], environment["PATH"])
        streams = [(os.POSIX_SPAWN_DUP2, null, n) for n in (0, 1)]
        began = time.perf_counter()
        pid = os.posix_spawn(program, words, environment, file_actions=streams)
        _, status, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - began
    finally:
        os.chdir(here)
        os.close(null)
    code = os.waitstatus_to_exitcode(status)
    if code != expected:
        raise subprocess.CalledProcessError(code, words)
    return Sample(usage.ru_utime + usage.ru_stime, wall)


def find(name, path):
    for folder in path.split(":"):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    raise FileNotFoundError(name)


@dataclass(frozen=True)
class Summary:
    median: float
    least: float
    most: float

    @staticmethod
    def of(values):
        return Summary(statistics.median(values), min(values), max(values))


def table(head, rows):
    """Prints columns; the first is left-aligned."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
