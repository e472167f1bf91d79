"""The commands that are measured, each in a generated project of its own."""

import importlib.util
import subprocess
import sys

from . import sources
from .surroundings import WORK, environment, once, remove


class Workload:
    title = ""
    words = []
    #: Tools that must be installed.
    needs = []
    #: Python modules that must be installed.
    modules = []

    def missing_modules(self):
        return [f"python module {m}" for m in self.modules if not importlib.util.find_spec(m)]

    def generate(self):
        return once(WORK / "projects" / type(self).__name__.lower(), self.make)

    def make(self, folder):
        raise NotImplementedError

    def reset(self, folder):
        """Undoes what the last run made, as far as the next one would not make it again."""

    def variables(self, folder):
        return {}


class Pytest(Workload):
    title = "360 tests in 60 files over a package of 40 modules"
    modules = ["pytest"]
    words = [sys.executable, "-m", "pytest", "-q"]

    def make(self, folder):
        sources.python_project(folder)

    def variables(self, folder):
        # What happens to be installed beside pytest must not be measured.
        return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class Gcc(Workload):
    title = "make -j2 of 60 C files with system headers and own headers"
    needs = ["gcc", "make"]
    words = ["make", "-s", "-j2"]

    def make(self, folder):
        sources.c_project(folder)

    def reset(self, folder):
        remove(folder / "build")


class GoBuild(Workload):
    title = "go test ./... of 12 packages, standard library compiled, own packages not"
    needs = ["go", "gcc"]
    words = ["go", "test", "./..."]

    def make(self, folder):
        sources.go_module(folder, "example.org/measured")
        # A twin that uses the same of the standard library.
        twin = WORK / "projects" / f"{folder.name}-twin"
        twin.mkdir(parents=True, exist_ok=True)
        sources.go_module(twin, "example.org/twin")
        self.run_once(twin, self.variables(folder))
        names = [str(f) for f in go_cache(folder).rglob("*") if f.is_file()]
        kept(folder).write_text("\n".join(names))

    def run_once(self, folder, variables):
        subprocess.run(
            self.words,
            cwd=folder,
            env=environment(WORK / "cache" / "bare", **variables),
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def reset(self, folder):
        # Removed one by one: a fresh copy would have new times, and no cache would know it.
        old = set(kept(folder).read_text().split("\n"))
        for file in go_cache(folder).rglob("*"):
            if file.is_file() and str(file) not in old:
                file.unlink()

    def variables(self, folder):
        return {
            "GOCACHE": str(go_cache(folder)),
            "GOPATH": str(WORK / "home" / "go"),
            "GOTOOLCHAIN": "local",
            "GOTELEMETRY": "off",
        }


class GoWarm(GoBuild):
    title = "go test -count=1 ./... of the same, everything compiled"
    words = ["go", "test", "-count=1", "./..."]

    def reset(self, folder):
        pass


def go_cache(folder):
    return WORK / "home" / f"go-cache-{folder.name}"


def kept(folder):
    return WORK / "home" / f"go-cache-{folder.name}.kept"


class Jvm(Workload):
    title = "javac of 300 classes, then java that loads them all"
    needs = ["javac", "java"]
    words = ["sh", "./check.sh"]

    def make(self, folder):
        sources.java_project(folder)

    def reset(self, folder):
        remove(folder / "out")


class Find(Workload):
    title = "find and du over 10,000 files: nothing but system calls, the worst case"
    needs = ["find", "du"]
    words = ["sh", "./check.sh"]

    def make(self, folder):
        sources.tree_of_files(folder)


ALL = {
    "pytest": Pytest(),
    "gcc": Gcc(),
    "go-build": GoBuild(),
    "go-warm": GoWarm(),
    "jvm": Jvm(),
    "find": Find(),
}
