"""What one test used, when it has ended. PYTEST_DONT_REWRITE"""

import os
import time

from _tamis_watch import Owner


_now = time.monotonic
#: Holders of state that belong to no module.
_HELD = ("config.", "session.", "logging.")


class Evidence:
    """What counts for a test: windows and bodies as bits, files, modules, and whether a process was copied."""

    __slots__ = ("windows", "bodies", "files", "names", "forked")

    def __init__(self):
        self.windows = self.bodies = 0
        self.files, self.names, self.forked = set(), set(), False

    def add(self, other):
        self.windows |= other.windows
        self.bodies |= other.bodies
        self.files |= other.files
        self.names |= other.names
        self.forked = self.forked or other.forked


class Writers:
    """Who changed one thing: tests as the sum of what counts for them, and others by themselves."""

    __slots__ = ("labels", "tests", "others", "only", "matters", "gate")

    def __init__(self, labels, watch):
        self.labels = labels
        self.tests, self.others, self.only = None, [], None
        #: Where coverage is measured: what is covered can depend on it.
        self.matters = False
        #: The bodies that have a name on the way to it, as bits; all where there is none. Those that come are added.
        self.gate = 0
        self.gate = watch.gate_of(self)

    def add(self, owner):
        if owner.kind != "test":
            self.only = None if self.others else id(owner)
            self.others.append(owner)
        elif owner.evidence is not None:
            self.tests = self.tests or Evidence()
            self.tests.add(owner.evidence)


class Test(Owner):
    def __init__(self, item):
        super().__init__("test")
        self.item, self.path, self.module = item, None, None
        self.uses = set()
        self.passed = False
        self.failed = False
        #: What pytest shows of its first failure.
        self.message = None
        #: Others that count for it because they left something, and what counts for tests among them.
        self.groups, self.kept = set(), Evidence()
        self.evidence = None
        self.has_written = False
        #: What is changed in the process after it, as texts (_tamis_left), and where of that it changed nothing before.
        self.left, self.new = (), {}
        #: Where coverage is measured: what it left can change what others cover, and what others left, what it covers.
        self.leaves = self.meets = False
        #: What modules changed that were imported in it.
        self.brought_about = []
        #: What it changed in fixtures of wider scopes that ended with it.
        self.in_ended = []
        self.is_watched = True
        #: The modules that it can reach as far as that was known at its beginning; None where all are compared.
        self.reach = None

    def reported(self, report):
        if report.failed and self.message is None:
            self.message = _text_of(report)
        self.failed = self.failed or bool(report.failed)
        self.passed = self.passed or not report.failed


class Since(Owner):
    """Tests of which it is not known which one changed something: whoever finds it depends on all of them."""

    def __init__(self, tests):
        super().__init__("test")
        self.evidence = Evidence()
        for evidence in tests:
            self.evidence.add(evidence)


class Gathering(Evidence):
    """All owners that count for a test, and the modules that they can reach."""

    __slots__ = ("plugin", "test", "owners", "fixtures", "added", "closed")

    def __init__(self, plugin, test, base=None):
        super().__init__()
        self.plugin, self.test = plugin, test
        self.owners, self.fixtures = {}, set()
        self.added = set()
        #: How many names there were when the modules that they reach were added.
        self.closed = -1
        if base is not None:
            self.add(base)
            self.owners.update(base.owners)
            self.closed = base.closed

    def visit(self, *owners):
        todo = list(owners)
        while todo:
            owner = todo.pop()
            if id(owner) in self.owners:
                continue
            self.owners[id(owner)] = owner
            self.forked = self.forked or owner.forked
            if owner.kind == "test" and owner is not self.test:
                if owner.evidence is not None:
                    self.add(owner.evidence)
                continue
            self.windows |= owner.windows
            self.bodies |= owner.bodies
            self.names |= owner.modules
            todo.extend(owner.inner)
            if owner.kind == "import":
                self.names.add(owner.name)
                self.files.add(owner.file)
            if owner.kind in ("test", "fixture"):
                todo.extend(self._fixtures_of(owner))

    def _fixtures_of(self, owner):
        made_in = getattr(owner, "made_in", None)
        if made_in is not None and made_in is not self.test:
            self.add(made_in.kept)
            yield from made_in.groups
        for known in owner.uses:
            if known in self.plugin.fixtures:
                self.fixtures.add(known)
                yield self.plugin.fixtures[known][1]

    def size(self):
        """Grows with everything that can lead to more: functions that come with other tests have names, too."""
        return len(self.owners), len(self.names), self.bodies

    def close(self):
        """Adds the modules that are reached by imports, until there are no more."""
        before = None
        while before != self.size():
            before = self.size()
            names, owners, places = self.plugin.imports.closure(self.names)
            self.names |= names
            if not places <= self.owners.keys():
                self.visit(*owners)
        self.closed = len(self.names)
        files = self.plugin.imports.files
        self.files.update(files[name] for name in self.names if name in files)

    def own_bodies(self):
        """All that ran in the test and in its fixtures, as bits."""
        found, seen = 0, set()
        todo = [self.test, *(self.plugin.fixtures[known][1] for known in self.fixtures)]
        while todo:
            owner = todo.pop()
            if id(owner) not in seen:
                seen.add(id(owner))
                found |= owner.bodies
                todo.extend(owner.inner)
        return found

    def _sees(self, root):
        """Whether a holder of state is this test's; what belongs to no module is everybody's."""
        if type(root) is int:
            return root in self.fixtures
        return root in self.names or root in ("process", "libraries", "in libraries") or root.startswith(_HELD)

    def add_state(self):
        """Adds who changed what this test can see: where something that ran for it has a name on the way there."""
        watch, kept, groups, owners, added = self.plugin.watch, self.test.kept, self.test.groups, self.owners, self.added
        by_tests, by_others = self.own_bodies(), self.bodies
        for root, known in self.plugin.writers.items():
            if not self._sees(root):
                continue
            gated = watch.by_function and (root in self.names or root in ("libraries", "in libraries"))
            # Who imports a library names it in the code of a module.
            who = by_others if root == "in libraries" else by_tests
            for writers in known.values():
                tests = writers.tests
                if tests is None and writers.only in owners:
                    continue
                gate = writers.gate if gated else -1
                if tests is not None and (gate == -1 or gate & who) and writers not in added:
                    added.add(writers)
                    kept.add(tests)
                    self.test.meets = self.test.meets or writers.matters
                if writers.others and (gate == -1 or gate & by_others):
                    groups.update(writers.others)
        self.add(kept)
        self.visit(*groups)


def _base(plugin, test):
    """What counts for every test of a file: mostly the same as for the last one of it."""
    everybody, imports = plugin.watch.everybody, plugin.imports
    path, module = test.path, test.module
    collected = plugin.collected.get(path, ())
    what_is_known = (len(everybody.inner), everybody.windows, everybody.bodies, len(everybody.modules))
    state = (*what_is_known, imports.generation, len(imports.files), len(collected))
    key = (path, module.__name__ if module is not None else None)
    known = plugin.bases.get(key)
    if known is not None and known[0] == state:
        return known[1]
    base = Gathering(plugin, None)
    base.names.update(conftests(plugin, test.item))
    if module is not None:
        base.names.add(module.__name__)
    base.visit(everybody, *collected)
    base.close()
    # What tests and fixtures have done may become more.
    if not any(owner.kind in ("test", "fixture") for owner in base.owners.values()):
        plugin.bases[key] = (state, base)
    return base


def reach(plugin, test):
    """The modules that a test can reach as far as that is known before it runs."""
    return _base(plugin, test).names


def gather(plugin, test):
    gathering = Gathering(plugin, test, _base(plugin, test))
    gathering.visit(test)
    before = None
    while before != gathering.size():
        if gathering.closed != len(gathering.names):
            gathering.close()
        before = gathering.size()
        plugin.compare_late(test, gathering.names)
        gathering.add_state()
    return gathering


def report(plugin, test, wall):
    """Sends what a test used; it is incomplete where that is not all."""
    writes = plugin.link
    why = None
    if not test.is_watched:
        why = "it took the place of the plugin that watches which functions run"
    if plugin.is_too_slow:
        why = "what stays in the process between tests takes too long to compare"
        if test.passed or test.failed:
            plugin.lists.send(writes, _message(plugin, test, wall, why))
        return
    gathering = gather(plugin, test)
    test.evidence = Evidence()
    test.evidence.add(gathering)
    process = plugin.after_test(test, gathering)
    if not test.has_written:
        test.evidence = None
    if not test.passed and not test.failed:
        return
    message = _message(plugin, test, wall, why)
    message["windows"] = "%x" % gathering.windows
    message["modules"] = frozenset(gathering.files)
    if _asks_for_lines(plugin.watch, gathering):
        message["counts"] = "lines"
    elif _asks_for_code(plugin.watch, gathering):
        message["counts"] = "whole"
    if gathering.forked:
        message["all"] = _reach(plugin, gathering)
    if process:
        message["process"] = process
    if test.left:
        message["left"] = sorted(test.left)
    if plugin.watch.cover is not None:
        plugin.watch.cover.tell(plugin, test, gathering, message)
    plugin.hand_over(test, gathering.fixtures, message)


#: Names by which code asks on which line of its file other code stands; the last one is a name of much else.
_LINES = frozenset((
    "tb_lineno", "f_lineno", "co_firstlineno", "co_lines", "co_positions", "extract_tb", "extract_stack", "walk_tb",
    "walk_stack", "format_exc", "format_tb", "format_stack", "format_exception", "print_exc", "print_tb", "print_stack",
    "print_exception", "TracebackException", "getframeinfo", "getinnerframes", "getouterframes", "getsourcelines",
    "findsource",
))  # fmt: skip
_LINE = frozenset(("lineno",))


def _asks_for_lines(watch, gathering):
    """Whether code that ran for a test asks where other code stands: then all of its modules count with their lines."""
    if not watch.by_function:
        return False
    ran = gathering.own_bodies()
    if watch.naming(_LINES) & ran:
        return True
    # Of warnings and records of a log that the test looks at.
    path, some = watch.file(gathering.test.path), watch.naming(_LINE) & ran
    while some:
        if watch.known[(some & -some).bit_length() - 1][0] == path:
            return True
        some &= some - 1
    return False


#: Names by which code looks into the body of a function without running it, or hands it to what does.
_CODE = frozenset((
    "co_code", "_co_code_adaptive", "co_consts", "co_names", "co_varnames", "co_cellvars", "co_freevars", "co_nlocals",
    "co_stacksize", "co_flags", "co_lnotab", "co_linetable", "co_exceptiontable", "_varname_from_oparg", "dis", "distb",
    "disassemble", "Bytecode", "get_instructions", "code_info", "show_code", "findlabels", "stack_effect",
    "getclosurevars", "marshal", "cloudpickle", "dill", "__static_attributes__",
))  # fmt: skip
_OBJECT = frozenset(("__code__", "f_code", "gi_code", "cr_code", "ag_code"))
#: What a code object says of the head of its function, or of where it stands.
_HEAD = frozenset(("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_name", "co_qualname", "co_filename"))


def _asks_for_code(watch, gathering):
    """Whether code that ran for a test looks at the code of functions: then all of its modules count as a whole."""
    if not watch.by_function:
        return False
    asks = watch.naming(_CODE) | watch.naming(_OBJECT) & ~watch.naming(_HEAD)
    return bool(asks & gathering.own_bodies())


#: More characters of a failure are not sent. What failed stands at the end.
_MOST_OF_A_FAILURE = 16000


def _text_of(report):
    try:
        return str(report.longreprtext)[-_MOST_OF_A_FAILURE:]
    except Exception:  # A text of somebody else's making; only a message is lost.
        return None


def _message(plugin, test, wall, why):
    return {
        "test": test.item.nodeid,
        "outcome": {"passed": not test.failed, "message": test.message},
        "time": {"wall": wall, "ended": int(_now() * 1e6)},
        "windows": "",
        "modules": frozenset(),
        "looks": _looks(plugin, test.path),
        "counts": "parts" if plugin.watch.by_function else "whole",
        "incomplete": why,
    }


def _reach(plugin, gathering):
    """The sources whose functions a copy of the process may run for this test."""
    item, names = gathering.test.item, set()
    names.update(conftests(plugin, item))
    if getattr(item, "module", None) is not None:
        names.add(item.module.__name__)
    for owner in gathering.owners.values():
        if owner.kind in ("test", "fixture", "collect"):
            names |= owner.modules
    names, owners, _ = plugin.imports.closure(names)
    files = {plugin.imports.files[name] for name in names if name in plugin.imports.files}
    return sorted(files | {owner.file for owner in owners if owner.kind == "import"})


def conftests(plugin, item):
    """The conftests above a test, by the names of their modules."""
    folder, found = os.path.dirname(str(item.path)) + os.sep, []
    known = plugin.conftests.get(folder)
    if known is not None and known[0] == len(plugin.imports.files):
        return known[1]
    for name, file in plugin.imports.files.items():
        place = os.path.join(plugin.link.root, file)
        if os.path.basename(place) == "conftest.py" and folder.startswith(os.path.dirname(place) + os.sep):
            found.append(name)
    plugin.conftests[folder] = (len(plugin.imports.files), found)
    return found


def _looks(plugin, path):
    """Files that would count for a test if they were there: conftests and packages around it."""
    known, root = plugin.looks.get(path), plugin.link.root
    if known is not None:
        return known
    found = []
    folder = os.path.dirname(os.path.realpath(path))
    while folder.startswith(root):
        for name in ("conftest.py", "__init__.py"):
            found.append(os.path.join(folder, name)[len(root) + 1 :])
        if folder == root:
            break
        folder = os.path.dirname(folder)
    plugin.looks[path] = frozenset(found)
    return plugin.looks[path]


class Lists:
    """Lists of files that many tests have in common: each is sent once, and has a number from then on."""

    def __init__(self):
        self.known, self.new = {}, []

    def _number(self, files):
        number = self.known.get(files)
        if number is None:
            number = self.known[files] = len(self.known)
            self.new.append(sorted(files))
        return number

    def send(self, link, message):
        for name in ("modules", "looks"):
            message[name] = self._number(message[name])
        if self.new:
            message["lists"], self.new = self.new, []
        link.send_soon(message)
