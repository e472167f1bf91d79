"""tamis inside of pytest: which tests there are, which need to run, and what each of them used. PYTEST_DONT_REWRITE

What a test used is its own window, those of its fixtures of wider scopes, of the modules that it can reach by
imports, of the collection of its file, and of everything before the first test. Besides, the windows of earlier
tests that left something changed in this process which this test can see (_tamis_state).
"""

import gc
import hashlib
import os
import sys
import time

import pluggy
from _tamis_agent import load
from _tamis_collect import Collecting
from _tamis_coverage import measured
from _tamis_evidence import Gathering, Lists, Since, Test, Writers, reach
from _tamis_evidence import report as report_test
from _tamis_imports import Imports
from _tamis_left import Left
from _tamis_library import handlers
from _tamis_link import Link, leave_environment
from _tamis_state import State
from _tamis_process import BY_CHANCE, ForeignState, ProcessState
from _tamis_watch import Owner, Watch, guarded

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_abspath = os.path.abspath
_collects, _collect, _collect_not = gc.isenabled, gc.enable, gc.disable
_now, _cpu, _frame = time.perf_counter, time.process_time, sys._getframe
hookimpl = pluggy.HookimplMarker("pytest")

#: Options that change which tests run, where, or what is printed, and not what a test does.
NEUTRAL = {
    "file_or_dir", "keyword", "markexpr", "verbose", "maxfail", "tbstyle", "showlocals", "show_locals", "color",
    "code_highlight", "durations", "durations_min", "reportchars", "disable_warnings", "numprocesses",
    "maxprocesses", "dist", "tx", "px", "testrunuid", "maxworkerrestart", "lf", "last_failed_no_failures",
    "failedfirst", "newfirst", "cacheshow", "cacheclear", "stepwise", "stepwise_skip", "stepwise_reset",
    "collectonly", "xmlpath", "junitprefix", "deselect", "ignore", "ignore_glob", "showcapture", "no_header",
    "no_summary", "randomly_seed", "force_short_summary", "xfail_tb", "fold_skipped", "traceconfig", "pastebin",
    "no_fold_skipped", "looponfail", "rsyncdir", "rsyncignore", "distload", "no_loadscope_reorder",
    "loadscopereorder", "keepduplicates", "collect_in_virtualenv", "continue_on_collection_errors", "rsyncdirs",
    "no_showlocals", "plugins", "loadgroup", "quiet",
}  # fmt: skip
#: Plugins whose fixtures hold what they run tests with: event loops, and what pytest keeps for itself.
RUNNERS = {"_pytest", "pytest_asyncio", "anyio", "xdist"}
#: What unittest, asyncio and pytest themselves leave, by which no test covers other code.
WITHOUT_EFFECT = frozenset((
    "warnings", "filters", "_showwarnmsg_impl", "_event_loop_policy", "tearDown_exceptions", "_class_cleanups",
))  # fmt: skip
#: Functions of a module that no code names: attributes that are not there are asked of them.
_ASKED_BY_PYTHON = frozenset(("__getattr__", "__dir__"))
#: With these nothing of a test runs, or not as usual.
OTHER_PURPOSE = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "markers")

#: Another text whenever more is seen: what was recorded when less was seen proves nothing.
_SEES = "2026-11-19, code"

the = None


class Plugin:
    def __init__(self, here, session):
        self.here = here
        version = "%d.%d" % sys.version_info[:2]
        self.link = Link(session, {"version": version})
        self.native = load(here)
        if self.native is not None:
            self.link.look = self.native.mark
        self.watch = Watch(self.link, self.link.root, self.native)
        self.imports = Imports(self.watch)
        self.state = State(self.watch.file, self.native)
        self.process, self.held = None, {}
        self.config = None
        self.collected = {}
        self.fixtures = {}
        self.waiting = []
        self.making = []
        self.bases, self.conftests, self.looks, self.lists = {}, {}, {}, Lists()
        self.writers = {}
        #: What counts for the tests since all modules were compared, and the file that they are of.
        self.recent, self.path = [], None
        self.wrote = {}
        self.test = None
        self.deselected = 0
        self.cover, self.covered = None, {}
        self.left = None
        self.files = Collecting(self)
        self.asked = False
        self.is_complete = self.is_over = False
        self.began, self.spent, self.is_too_slow = _cpu(), 0.0, False

    # The beginning.

    def begin(self):
        self.watch.start()
        self._look_at_what_was_before()
        self._take_modules_of_before()
        self.imports.install()
        self.imports.on_imported = self.imported
        (sys.addaudithook if self.native is None else self.native.audit)(self.audit)

    @guarded
    def pytest_is_there(self):
        """All of pytest's own modules can be imported now."""
        import _pytest.assertion.rewrite as rewrite
        import _pytest.fixtures as fixtures

        self.imports.around_loader(rewrite.AssertionRewritingHook)
        self._around_fixtures(fixtures.FixtureDef)
        self.is_complete = True

    def _look_at_what_was_before(self):
        """What the interpreter read before the tracer knew this process."""
        places = {sys.executable, os.path.realpath(sys.executable), os.path.join(sys.prefix, "pyvenv.cfg")}
        for module in list(sys.modules.values()):
            spec = getattr(module, "__spec__", None)
            places.add(getattr(module, "__file__", None) or getattr(spec, "origin", None))
        for folder in {entry for entry in sys.path if entry.endswith("-packages")}:
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            places.update(os.path.join(folder, name) for name in names if name.endswith(".pth"))
        for place in places:
            if isinstance(place, str) and os.path.isabs(place):
                try:
                    os.stat(place)
                except OSError:
                    pass

    def _take_modules_of_before(self):
        """Modules of the project that the program around pytest imported: who imported what is not known.

        They count by their text for every test, and each of them leads to all others.
        """
        found = {}
        for name, module in list(sys.modules.items()):
            file = self.watch.file(_abspath(getattr(module, "__file__", None) or ""))
            if file is not None:
                found[name] = file
        for name, file in found.items():
            self.imports.files[name] = file
            self.imports.edges.setdefault(name, set()).update(found)
            self.watch.owner.read.add(file)
            self.state.add_module(name)

    def _around_fixtures(self, kind):
        execute, used = kind.execute, self.used
        finish, finishes, has_finished = kind.finish, self.finishes, self.has_finished

        def around(self, request):
            __tracebackhide__ = True
            used(self)
            return execute(self, request)

        def around_finish(self, request):
            __tracebackhide__ = True
            owner = finishes(self)
            if owner is None:
                return finish(self, request)
            try:
                return finish(self, request)
            finally:
                has_finished(self, owner)

        kind.execute, kind.finish = around, around_finish

    @guarded
    def audit(self, event, args):
        if event == "open":
            path = _text(args[0])
            if path is None:
                return
            if self.test is not None and isinstance(args[2], int):
                self.opened(path, bool(args[2] & _WRITES))
            elif self.files.now is not None and isinstance(args[2], int) and args[2] & _WRITES:
                self.files.writes(path)
            if path.endswith(".py") and not _is_import():
                file = self.watch.file(_abspath(path))
                if file is not None:
                    self.watch.owner.read.add(file)
        elif event == "sqlite3.connect":
            if self.test is not None and isinstance(args[0], str) and args[0] != ":memory:":
                self.opened(args[0], True)
        elif event in ("os.listdir", "os.scandir"):
            folder = self.watch.folder(_text(args[0]) if args[0] is not None else None)
            if folder is not None:
                lists = self.watch.owner.lists
                lists[folder] = lists.get(folder, False) or not _is_search()
        elif event in ("os.fork", "os.forkpty"):
            self.watch.owner.forked = True

    def opened(self, path, writes):
        """Who opens a file that an earlier test of this process wrote depends on that test."""
        if path.endswith(".pyc") or "/.pytest_cache/v/cache/" in path or path.startswith("/dev/"):
            return
        writers = self.wrote.setdefault(_abspath(path), set()) if writes else self.wrote.get(_abspath(path))
        if writers is None:
            return
        self.test.groups.update(writer for writer in writers if writer is not self.test)
        if writes:
            writers.add(self.test)
            self.test.has_written = True

    @guarded
    def configured(self, config):
        """The first configuration of this process is the user's; others are made by tests of plugins."""
        self.config = config
        options = config.known_args_namespace
        spread = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
        if "PYTEST_XDIST_WORKER" in os.environ or not spread:
            leave_environment(self.here)
        else:
            # The workers have the tests; below an open window they would not be seen as processes of their own.
            self.watch.leave()
        root = str(config.rootpath)
        names = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")
        for place in {*(os.path.join(root, name) for name in (*names, "setup.py")), str(config.inipath or root)}:
            try:
                os.stat(place)
            except OSError:
                pass

    def scope(self):
        """In which way the tests run, as a few letters: another interpreter or option is another way."""
        options = sorted(vars(self.config.option).items())
        if hasattr(self.config, "workerinput"):
            # A worker of xdist has a temporary folder of its own.
            options = [("worker", True), *((n, v) for n, v in options if n != "basetemp")]
        usual = [
            "%s=%r" % (name, value)
            for name, value in options
            if name not in NEUTRAL and not name.startswith(("cov", "no_cov", "verbosity_")) and " at 0x" not in repr(value)
        ]
        plugins = [name for name in self.config.option.plugins or () if not name.startswith("no:terminal")]
        flags = repr(sys.flags)
        parts = [_SEES, sys.version, sys.prefix, os.path.realpath(sys.executable), flags, os.getcwd(), *usual, *plugins]
        # Neither the project's folder nor the user's: records travel.
        text = "\n".join(parts).replace(self.link.root, "").replace(os.path.expanduser("~"), "~")
        return "%d.%d-%s" % (*sys.version_info[:2], hashlib.sha256(text.encode()).hexdigest()[:6])

    # Collection.

    def folder(self):
        """Where the tests' ids begin, relative to the project; None where that is not inside."""
        folder = os.path.realpath(str(self.config.rootpath)) + os.sep
        return folder[len(self.watch.root) :].rstrip(os.sep) or "." if folder.startswith(self.watch.root) else None

    @guarded
    def selected(self, session, items):
        option = self.config.option
        if any(getattr(option, name, False) for name in OTHER_PURPOSE):
            return
        self.asked = True
        self.files.tell(items)
        everyone = self.files.with_left_out(items)
        everything, self.cover = None, measured(option)
        if self.cover is not None and self.cover.why is not None:
            everything = "coverage is measured, and cannot be kept: " + self.cover.why
            self.cover = None
        question = {
            "ask": [item.nodeid for item in everyone],
            "scope": self.scope(),
            "folder": self.folder() or ".",
            "everything": everything,
            "coverage": self.cover and self.cover.describe(self.link.root),
            "run": os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(self.link.pid),
            **self.files.counts(),
        }
        answer, left = self.link.ask(question), None
        if isinstance(answer, dict):
            answer, self.covered, left = answer["run"], answer["covered"], answer["left"]
        if not isinstance(answer, list) or len(answer) != len(everyone):
            answer = [True] * len(everyone)
        everyone, answer = self.files.with_late(everyone, answer)
        self.left = Left(self, everyone, answer, left)
        proven = self.left.out
        if proven:
            self.deselected += len(proven)
            items[:] = [item for item, runs in zip(everyone, answer) if runs]
            self.config.hook.pytest_deselected(items=self.files.with_unchosen(proven))

    @guarded
    def collects(self, collector):
        import _pytest.nodes as nodes

        is_file = isinstance(collector, nodes.File)
        is_inside = not isinstance(collector, nodes.FSCollector)
        owner = Owner("collect" if is_file or (is_inside and collector is not collector.session) else "walk")
        if owner.kind == "collect":
            self.collected.setdefault(str(collector.path), []).append(owner)
        return owner

    @guarded
    def has_collected(self, owner):
        """What pytest itself looks at on its way counts by what it finds, which is compared each time.

        What it keeps in the functions that it finds is no state of the project.
        """
        found = self.state.changes()
        for root, changed in found.items():
            if owner.ran:
                self.write(root, changed, owner)
        self.files.changed(found)
        if owner.kind == "walk" and owner.ran:
            self.watch.for_everybody(owner)
        elif owner.kind == "walk":
            for inner in owner.inner:
                if inner.kind == "foreign":
                    self.watch.for_everybody(inner)

    @guarded
    def before_first_test(self, session):
        self.session = session
        self.state.changes()
        self.process = ProcessState(self.config, session, self.imports.files, self.native)
        self.foreign = ForeignState(self.config, self.imports.files, self.native)
        self.hold()
        self.always = {(root, labels) for root, changed in self.state.changes().items() for labels in changed}
        if self.cover is not None:
            self.cover.begin(self.watch, self.covered)
            self.watch.cover = self.cover
        self.imports.on_library = self.has_library
        self.watch.between()

    @guarded
    def has_library(self):
        self.process.has_library()
        self.foreign.has_library()

    def hold(self):
        """What pytest and the loggers hold for the project is looked at as the project's modules are."""
        now = {**self.process.holds, **{"logging.%d" % id(one): one for one in handlers()}}
        for name, value in now.items():
            if self.held.get(name, self) is not value:
                self.state.add(name, value)
        for name in self.held.keys() - now.keys():
            self.state.roots.pop(name, None)
        self.held = now

    @guarded
    def before_loop(self):
        """What plugins change in the process before the first test (filters of warnings) no test has left."""
        if self.process is not None:
            touched = self.foreign.touched()
            self.process.changes(touched)
            self.foreign.changes(touched)

    @guarded
    def after_last_test(self):
        if self.watch.cover is not None:
            self.watch.cover.stop()

    @guarded
    def ended(self, test, wall, following):
        began = _cpu()
        report_test(self, test, wall)
        if self.state.late and (following is None or str(following.path) != self.path):
            self.catch_up()
        self.spend(_cpu() - began)

    # A test is compared with the modules that it can reach. What it changed in others is found when a test comes that
    # can reach them, at the latest behind the last one of its file: then each test since the last look may have been it.

    @guarded
    def before_test(self, test):
        test.path, test.module = str(test.item.path), getattr(test.item, "module", None)
        if self.state.late and test.path != self.path:
            self.catch_up()
        self.path = test.path
        if self.cover is None and self.process is not None:
            test.reach = reach(self, test)

    def catch_up(self, names=None):
        """Compares modules that were left out."""
        changed = {}
        found = self.state.late_changes(self.state.late.keys() if names is None else names)
        for root, (changed[root], moment) in found.items():
            self.write(root, changed[root], Since(self.recent[moment:]))
        if not self.state.late:
            self.recent, self.state.moment = [], 0
        return changed

    def compare_late(self, test, names):
        """Of the modules that were left out, those that a test which ends can reach after all."""
        if not self.state.late.keys().isdisjoint(names):
            changed = self.catch_up(names)
            if test is not None:
                test.brought_about.extend(changed.items())

    def spend(self, seconds):
        """Comparing may take longer than the tests: then nothing is compared any more, and no test is proven.

        In time of the processor: a machine that is busy with other work makes nothing slow.
        """
        self.spent += seconds
        if self.spent > 20 and self.spent > 0.7 * (_cpu() - self.began):
            self.is_too_slow = True

    # State.

    @guarded
    def imported(self, name, owner):
        if self.is_too_slow:
            return
        began = _cpu()
        if name in self.state.late:
            self.compare_late(self.test, {name})
        among = self.test.reach if self.test is not None else None
        found = self.state.changes(besides=(name,), among=among)
        self.files.changed(found)
        for root, changed in found.items():
            self.write(root, changed, owner)
            if self.test is not None:
                # Without this test it may not have been imported. What counts for it is known at its end.
                self.test.brought_about.append((root, changed))
        self.state.add_module(name)
        if self.test is not None and self.test.reach is not None:
            self.test.reach = self.test.reach | {name}
        self.spend(_cpu() - began)

    def write(self, root, changed, owner, process=()):
        """Remembers who changed what, by the labels of it."""
        known = self.writers.setdefault(root, {})
        for labels in set(changed):
            if labels <= _ASKED_BY_PYTHON:
                labels = frozenset()
            if labels not in known:
                known[labels] = Writers(labels, self.watch)
            known[labels].add(owner)
            if owner.kind == "test" and self.watch.cover is not None and self.matters(root, labels, owner, process):
                known[labels].matters = owner.leaves = True

    def matters(self, root, labels, test, process):
        """Whether others may cover other code because of this change."""
        if root == "process":
            return not WITHOUT_EFFECT.issuperset(process)
        if labels & WITHOUT_EFFECT:
            return False
        # What cannot be looked into counts as changed by every test; here by those that name it.
        is_sure = (root, labels) not in self.always and labels is not BY_CHANCE and type(root) is not int
        return is_sure or bool(self.watch.mention(labels) & test.bodies) or root in test.uses

    @guarded
    def used(self, definition):
        known = id(definition)
        if self.making:
            self.making[-1].uses.add(known)
        if self.test is not None:
            self.test.uses.add(known)

    @guarded
    def made(self, definition, owner):
        self.fixtures[id(definition)] = (definition, owner)
        result = getattr(definition, "cached_result", None)
        home = str(getattr(definition.func, "__module__", "")).partition(".")[0]
        if result is not None and result[0] is not None and home not in RUNNERS:
            self.state.add(id(definition), result[0])

    @guarded
    def finishes(self, definition):
        """What a fixture of a wider scope does at its end counts for all tests that used it."""
        if id(definition) not in self.fixtures or getattr(definition, "cached_result", None) is None:
            return None
        if self.test is not None and id(definition) in self.state.roots:
            # With more tests in the list it would have lived on, and they would find what this one changed.
            changed = self.state.roots[id(definition)].changes()
            self.test.in_ended += [(id(definition), changed)] if changed else []
        owner = Owner("fixture")
        owner.uses = set()
        self.watch.push(owner)
        return owner

    @guarded
    def has_finished(self, definition, owner):
        self.watch.pop()
        found = Gathering(self, None)
        found.visit(owner)
        found.close()
        for _, message, unfinished in self.waiting:
            if id(definition) in unfinished:
                unfinished.discard(id(definition))
                if found.forked:
                    message["incomplete"] = message["incomplete"] or "a fixture that it used forks at its end"
                message["windows"] = "%x" % (found.windows | int(message["windows"] or "0", 16))
                message["modules"] = message["modules"] | found.files
                if self.watch.cover is not None and "coverage" in message:
                    self.watch.cover.tell_windows(found.windows, message)
        self.send_finished()

    def hand_over(self, test, fixtures, message):
        """A test is recorded when the fixtures that it used have ended."""
        unfinished = {known for known in fixtures if self.fixtures[known][0].cached_result is not None}
        self.waiting.append((test, message, unfinished))
        self.send_finished()

    def send_finished(self):
        ready = [message for _, message, unfinished in self.waiting if not unfinished]
        self.waiting = [waiting for waiting in self.waiting if waiting[2]]
        for message in ready:
            self.lists.send(self.link, message)

    @guarded
    def send_rest(self):
        for _, message, unfinished in self.waiting:
            message["incomplete"] = message["incomplete"] or "a fixture that it used has not ended"
            unfinished.clear()
        self.send_finished()

    @guarded
    def after_test(self, test, gathering):
        changed = self.state.changes(among=None if test.reach is None else gathering.names)
        touched = self.foreign.touched()
        process = self.process.changes(touched)
        by_name, hidden = self.foreign.changes(touched)
        for_all, for_some = self.watch.out_of_sight(test)
        process += for_all
        by_name += for_some
        if process:
            changed["process"] = [frozenset()]
        if by_name:
            changed["libraries"] = by_name
        if hidden:
            changed["in libraries"] = hidden
        self.hold()
        changed = (*changed.items(), *test.brought_about)
        for root, labels in changed:
            test.has_written = True
            self.write(root, labels, test, process)
        test.brought_about = ()
        if self.state.late:
            self.recent.append(test.evidence)
            self.state.moment = len(self.recent)
        changed += tuple(test.in_ended)
        if self.left is not None and changed:
            places = self.left.places(changed, process)
            test.left, test.new = places.keys(), self.left.new(test, places)
        return process

    @guarded
    def put_back(self, test):
        """Tests that were left out and can see what this one leaves since it changed run after all.

        The next one in the list was already announced; what is put in behind it pytest's loop comes to.
        """
        if not test.new or self.is_over:
            return
        session, seeing = self.session, self.left.seeing(test, test.new)
        if not seeing:
            return
        of_all = [{"test": item.nodeid, "left": place} for item, place in seeing]
        answer = self.link.ask({"back": of_all, "by": test.item.nodeid})
        if not isinstance(answer, list) or len(answer) != len(seeing):
            return
        back = [item for (item, _), runs in zip(seeing, answer) if runs]
        self.left.taken_back(back)
        self.deselected -= len(back)
        gone, back = set(map(id, back)), self.files.imported(back, self.left.order)
        items = session.items
        at = next((at for at, item in enumerate(items) if item is test.item), len(items))
        rest = sorted([*items[at + 2 :], *back], key=lambda item: self.left.order.get(id(item), 0))
        items[at + 2 :] = rest
        session.testscollected += len(back)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        deselected = getattr(terminal, "stats", {}).get("deselected")
        if deselected:
            deselected[:] = [item for item in deselected if id(item) not in gone]


def connect(here, session):
    """Whether this process is now watched; the first time only."""
    global the
    if the is not None:
        return False
    plugin = Plugin(here, session)
    try:
        plugin.begin()
    except BaseException:
        plugin.link.trouble("the plugin could not begin")
        raise
    the = plugin
    return True


def _text(path):
    """A path as a text; None for an open file."""
    if type(path) is str:
        return path
    try:
        return os.fsdecode(path)
    except TypeError:
        return None


def _opener():
    """The code that looks at a file; None where the interpreter itself does, to show a line of a traceback."""
    try:
        return _frame(4)
    except ValueError:
        return None


def _is_import():
    """Whether a file is opened to be compiled, by the import system or by pytest for its rewriting."""
    frame = _opener()
    for _ in range(5):
        if frame is None:
            return False
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        if function == "get_code" and name.startswith("<frozen importlib"):
            return True
        if function in ("_rewrite_test", "_read_pyc") and name.endswith("rewrite.py"):
            return True
        if "pathlib" not in name and (function != "get_data" or not name.startswith("<frozen importlib")):
            return False
        frame = frame.f_back
    return False


def _is_search():
    """Whether a folder is listed to find distributions, conftests or coverage.py's own files.

    A fact says what counts of such a list.
    """
    frame = _opener()
    for _ in range(12):
        if frame is None:
            return False
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        if "/importlib/metadata/" in name or name.endswith(("/coverage/sqldata.py", "/coverage/data.py")):
            return True
        if function == "_set_initial_conftests" and name.endswith("/_pytest/config/__init__.py"):
            return True
        if "pathlib" not in name and "/glob.py" not in name and "/_pytest/config/" not in name:
            return False
        frame = frame.f_back
    return False


def _is_ours(config):
    return the is not None and the.config is config and not the.watch.is_broken


# Hooks.


@hookimpl(tryfirst=True)
def pytest_addoption():
    if the is not None and not the.is_complete:
        the.pytest_is_there()


@hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if the is not None and the.config is None and not the.is_over:
        the.configured(early_config)


@hookimpl(tryfirst=True)
def pytest_configure(config):
    if _is_ours(config):
        config.pluginmanager.register(Reports(), "_tamis_reports")


class Reports:
    """The reports of files that are not imported; the wrapper of this hook is below."""

    @hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector):
        return the.files.instead(collector)


@hookimpl(hookwrapper=True, tryfirst=True)
def pytest_make_collect_report(collector):
    if not _is_ours(collector.config):
        yield
        return
    owner = the.collects(collector) or Owner("walk")
    the.watch.push(owner)
    try:
        the.files.opens(collector, owner)
        yield
    finally:
        the.watch.pop()
        the.has_collected(owner)


@hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    if the is not None and the.config is config:
        the.files.before_hooks(config, items)
    yield
    if _is_ours(config):
        the.selected(session, items)


@hookimpl(trylast=True)
def pytest_collection_finish(session):
    if _is_ours(session.config):
        the.before_first_test(session)


@hookimpl(hookwrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    if not _is_ours(request.config) or fixturedef.scope == "function":
        yield
        return
    owner = Owner("fixture")
    owner.uses, owner.made_in = set(), the.test
    the.making.append(owner)
    the.watch.push(owner)
    try:
        yield
    finally:
        the.watch.pop()
        the.making.pop()
        the.made(fixturedef, owner)


@hookimpl(tryfirst=True)
def pytest_fixture_post_finalizer(fixturedef, request):
    if the is not None and the.config is request.config:
        the.state.roots.pop(id(fixturedef), None)


@hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if not _is_ours(item.config) or not the.asked:
        yield
        return
    test = the.test = Test(item)
    the.before_test(test)
    the.watch.resume()
    the.watch.push(test)
    began = _now()
    try:
        yield
    finally:
        wall = _now() - began
        the.watch.between()
        the.test = None
        test.is_watched = the.watch.is_watching()
        the.watch.rest()
        # What is made and dropped here would bring the collector to look at all that the tests have.
        collects = _collects()
        if the.process is not None:
            the.process.collects = collects
        _collect_not()
        try:
            the.ended(test, int(wall * 1e6), nextitem)
            the.put_back(test)
        finally:
            if collects:
                _collect()
            the.watch.resume()


@hookimpl(hookwrapper=True, trylast=True)
def pytest_runtestloop(session):
    if not _is_ours(session.config):
        yield
        return
    the.before_loop()
    try:
        yield
    finally:
        the.after_last_test()


@hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if the is not None and the.test is not None and the.test.item is item:
        the.test.reported(outcome.get_result())


@hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    test = the.test if the is not None else None
    if test is not None and test.item.nodeid == report.nodeid:
        test.reported(report)


@hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    if the is None or the.config is not session.config:
        return
    if int(exitstatus) == 5 and (the.deselected or the.link.ask({"deselected": True})):
        session.exitstatus = 0


@hookimpl(trylast=True)
def pytest_unconfigure(config):
    if the is not None and the.config is config:
        the.send_rest()
        the.watch.end()
        the.watch.stop()
        the.link.bye()
        the.config, the.is_over = None, True
