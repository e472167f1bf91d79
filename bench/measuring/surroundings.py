"""Where things are, and the environment in which everything is measured."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "bench" / "work"


class Missing(Exception):
    """Something that has to be there before anything can be measured."""


def binary(given):
    path = Path(given).resolve() if given else ROOT / "target" / "release" / "tamis"
    if not os.access(path, os.X_OK):
        raise Missing(f"{path} is missing; `cargo build --release -p tamis` makes it")
    return str(path)


def tool(name):
    """The tool's path; None where it is not installed."""
    return shutil.which(name, path=PATH)


def without_shims(path):
    """Version managers put scripts in front of the tools, which would be measured as well."""
    folders = [f for f in path.split(":") if not f.endswith("/shims")]
    # The interpreter behind the shim is the one that runs this program.
    return ":".join([os.path.dirname(os.path.realpath(sys.executable)), *folders])


PATH = without_shims(os.environ.get("PATH", "/usr/bin:/bin"))


def environment(cache, **more):
    """A small, fixed environment; `cache` holds what tamis keeps between runs."""
    return {
        "PATH": PATH,
        "HOME": str(WORK / "home"),
        "LANG": "C.UTF-8",
        "XDG_CACHE_HOME": str(cache),
        **more,
    }


def remove(*paths):
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


def once(folder, make):
    """Generates a project, unless a finished one is there already."""
    done = folder / ".generated"
    if not done.exists():
        remove(folder)
        folder.mkdir(parents=True)
        make(folder)
        # The project's root for tamis: not the repository that it lies in.
        (folder / "tamis.toml").write_text("")
        done.write_text("")
    return folder
