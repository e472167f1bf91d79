"""What tests cover while coverage.py measures this process. PYTEST_DONT_REWRITE

At each border of a window, from the first test on, what was measured since the last one is taken out of
coverage.py's hands and sent to tamis, which keeps it with the records. Nothing is lost by that: it is given back
whenever coverage.py hands its data over, together with what the tests covered that do not run. What was measured
before the first test (imports, collection) is measured in each run.

A test that forks, or which measures something itself, has no such data.
What coverage.py counts in a way that this does not know (`why`) makes all tests run.
"""

import hashlib
import os
import sys
import types

#: Settings that decide what is measured; all others are about reports.
_SETTINGS = (
    "branch", "source", "source_pkgs", "source_dirs", "run_include", "run_omit", "include", "omit", "concurrency",
    "cover_pylib", "timid", "core", "relative_files", "plugins", "patch",
)  # fmt: skip
#: By one of these a process that is started is measured by itself.
_CHILDREN = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COV_CORE_SOURCE", "COV_CORE_CONFIG")
_COPIES = {"os.fork", "os.forkpty"}
_SWITCHING = {"greenlet", "eventlet", "gevent"}


def measured(options):
    """The measuring of this process, whoever began it; None where there is none."""
    coverage = sys.modules.get("coverage")
    kind = getattr(coverage, "Coverage", None)
    current = kind.current() if kind is not None else None
    if current is not None:
        return Measured(kind, current, coverage.__version__, options)
    if getattr(options, "cov_source", None) and not getattr(options, "no_cov", False):
        # By workers, or not at all, which only pytest-cov knows.
        return Unknown("its options ask for it, and this process is not measured")
    return None


class Unknown:
    """Coverage that cannot be kept."""

    def __init__(self, why):
        self.why = why

    def stop(self):
        pass


class Measured:
    def __init__(self, kind, current, version, options):
        self.current_now, self.coverage = kind.current, current
        self.version, self.options = version, options
        #: What was taken out, what tests cover that do not run, and windows of which it is not known.
        self.total, self.kept, self.lost = {}, {}, 0
        self.is_on = False
        try:
            self.collector, self.config = current._collector, current.config
            self.why = self._why_not()
        except AttributeError as error:
            self.why = "this version of coverage.py is not known (%s)" % error

    def _why_not(self):
        """Why what a test covers cannot be distinguished from the rest, or cannot be added later."""
        collector, config = self.collector, self.config
        if collector.should_start_context or config.dynamic_context or getattr(self.options, "cov_context", None):
            return "it says which test ran each line (contexts)"
        if self.coverage._plugins.file_tracers:
            return "a plugin of coverage.py measures files that are not Python"
        if _SWITCHING & set(config.concurrency or ()):
            return "it follows code that changes threads by itself (concurrency)"
        if collector._collectors[-1] is not collector:
            return "another measurement is under way"
        starts = any(os.environ.get(name) for name in _CHILDREN) or getattr(config, "patch", None)
        if starts or "multiprocessing" in (config.concurrency or ()):
            return "processes that tests start are measured by themselves"
        if not callable(collector.flush_data) or not isinstance(collector.data, dict):
            return "this version of coverage.py is not known"
        self.branch = bool(collector.branch)
        self._decoded({})
        return None

    def describe(self, root):
        """What has to be the same, so that what was kept can be added; and where the data goes."""
        values = ["%s=%r" % (name, getattr(self.config, name, None)) for name in _SETTINGS]
        text = "\n".join([self.version, self.collector.tracer_name(), *values]).replace(root, "")
        data = os.path.realpath(self.config.data_file)
        return {"settings": hashlib.sha256(text.encode()).hexdigest()[:16], "data": data}

    def begin(self, watch, kept):
        """From here on windows are distinguished. `kept`: what tests cover that do not run, by file."""
        self.watch, self.root = watch, watch.root
        self.first = watch.number + 1
        self.restarts = self.collector.tracer_name() == "SysMonitor"
        sys.addaudithook(self._audit)
        for file, covered in kept.items():
            covered = [tuple(arc) for arc in covered] if self.branch else covered
            self.kept[os.path.join(self.root, file)] = covered
        self._around_flush()
        self.is_on = True
        self.take()

    def _audit(self, event, _):
        if self.is_on and event in _COPIES:
            self.lost |= 1 << self.watch.number

    def _around_flush(self):
        collector, original, give_back = self.collector, self.collector.flush_data, self._give_back

        def flush_data():
            if self.is_on:
                self.lost |= 1 << self.watch.number
            give_back()
            flushed = original()
            if not self.kept:
                return flushed
            kept = collector.mapped_file_dict(self.kept)
            (collector.covdata.add_arcs if self.branch else collector.covdata.add_lines)(kept)
            return True

        collector.flush_data = flush_data

    def _give_back(self):
        total, self.total = self.total, {}
        for file, seen in total.items():
            known = self.collector.data.setdefault(file, seen)
            if known is not seen:
                known.update(seen)

    def stop(self):
        """What comes now belongs to no test."""
        if self.is_on:
            self.watch.end()
            self.is_on = False
            self.watch.begin()

    # Borders.

    def take(self):
        """What was measured since the last border, by file."""
        if not self.is_on:
            return None
        found = {}
        for file, seen in list(self.collector.data.items()):
            if seen:
                # Another thread may add to it meanwhile.
                new = found[file] = seen.copy()
                seen.difference_update(new)
                self.total.setdefault(file, set()).update(new)
        if self.current_now() is not self.coverage or not all(file.startswith(self.root) for file in found):
            self.lost |= 1 << self.watch.number
            return None
        decoded = self._decoded(found).items()
        return {file[len(self.root) :]: sorted(covered) for file, covered in decoded}

    def restart(self):
        """sys.monitoring tells of a line once: it has to tell of it in each window."""
        if self.is_on and self.restarts:
            sys.monitoring.restart_events()

    def _decoded(self, raw):
        """Lines, or pairs of lines: by coverage.py's own reading of what its tracers write."""
        found, known = {}, ("branch", "core", "packed_arcs")
        collector = types.SimpleNamespace(
            **{name: getattr(self.collector, name) for name in known if hasattr(self.collector, name)},
            data=raw,
            covdata=types.SimpleNamespace(add_lines=found.update, add_arcs=found.update, add_file_tracers=len),
            file_tracers={},
            disabled_plugins=(),
            mapped_file_dict=dict,
            cached_mapped_file=str,
            _activity=lambda: True,
            _clear_data=lambda: None,
        )
        type(self.collector).flush_data(collector)
        return found

    # Tests.

    def tell(self, plugin, test, gathering, message):
        """Adds to what is reported of a test: its windows, and whether what others leave matters for it."""
        owners = [owner for owner in gathering.owners.values() if owner.kind in ("import", "find")]
        todo = [test, *(plugin.fixtures[known][1] for known in gathering.fixtures), *owners]
        seen, windows = set(), 1 << self.watch.number | (test.windows & -test.windows) >> 1
        while todo:
            owner = todo.pop()
            if id(owner) not in seen and (owner.kind != "test" or owner is test):
                seen.add(id(owner))
                windows |= owner.windows
                todo.extend(owner.inner)
        met = [group.item.nodeid for group in test.groups if group.kind == "test"]
        message["coverage"] = {"alone": not (test.leaves or test.meets or met), "met": met, "windows": ""}
        self.tell_windows(windows, message)

    def tell_windows(self, windows, message):
        covered = message["coverage"]
        if windows & self.lost:
            covered.pop("windows", None)
        elif "windows" in covered:
            windows = windows >> self.first << self.first
            covered["windows"] = "%x" % (windows | int(covered["windows"] or "0", 16))
