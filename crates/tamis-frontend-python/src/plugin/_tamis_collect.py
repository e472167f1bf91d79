"""Test files that need not be imported: all their tests are proven, and what their import does is not missed. PYTEST_DONT_REWRITE

A test's record holds only while all that counted for the collection of its file is as it was. So the tests of a file
are known without importing it, where they were written down when one of their records was made and all of them are
proven (tamis looks at that, `collection.rs`). In the place of such a file what it imports is imported, in the same
order, and its folder is put on the path: what other modules do at their import is done in any case. What is left is
what the file itself does: it may stay out only if it changed nothing outside of itself when it was last
collected (`Seen.effects`). That can hide what another one had done before it; so what has effects, and whatever
was imported before the first file, is written down as well (`commons`): where one of these changed, all files are imported.

Where hooks of others look at items or collectors, where tests are chosen by what pytest remembers or by their ids, where
coverage is measured, and in workers of xdist, all files are imported as ever.
"""

import atexit
import builtins
import os
import re
import sys
import types
import warnings

from _tamis_coverage import measured
from _tamis_process import ForeignState, ProcessState
from _tamis_watch import guarded

#: Who has one of these sees items, or collectors.
_HOOKS = (
    "pytest_collection_modifyitems", "pytest_itemcollected", "pytest_collectstart", "pytest_collectreport",
    "pytest_make_collect_report", "pytest_deselected", "pytest_pycollect_makemodule",
)  # fmt: skip
#: These do the same with each item, whatever else there is.
_ONE_BY_ONE = {
    "pytest_collection_modifyitems": {"_hypothesis_pytestplugin", "pytest_asyncio.plugin", "anyio.pytest_plugin"},
}
#: Options with which all files are imported as ever.
_CHOOSING = (
    "lf", "failedfirst", "newfirst", "stepwise", "stepwise_skip", "collectonly", "setuponly", "setupplan", "showfixtures",
    "show_fixtures_per_test", "markers", "doctestmodules", "pyargs", "keepduplicates", "cov_source", "numprocesses", "tx",
)  # fmt: skip
#: What changes where a conftest is loaded.
_BY_PYTEST = {"plugins", "path"}
_WORD = re.compile(rb"\w+")
_open, _read, _close = os.open, os.read, os.close


class Stub:
    """Stands in pytest's list of what was deselected for a test whose file was not imported."""

    is_out = True

    def __init__(self, file, nodeid):
        self.file, self.nodeid, self.path = file, nodeid, file.collector.path
        #: The fixtures that it can reach.
        self.fixtures = file.known["fixtures"]

    @property
    def reach(self):
        """The modules that it can reach."""
        return {self.file.texts[number] for number in self.file.known["names"]}


class LeftOut:
    """A file that was not imported."""

    def __init__(self, collector, known, texts, order, words):
        self.collector, self.known, self.texts, self.order = collector, known, texts, order
        self.read, self.known_words = words, None
        self.tests = [Stub(self, nodeid) for nodeid in known["ids"]]
        self.items = None

    def words(self):
        """All words of its text."""
        if self.known_words is None:
            self.known_words = {word.decode("utf-8", "replace") for word in self.read(str(self.collector.path))}
        return self.known_words

    def unchosen(self):
        """One for each test that other options deselect."""
        return [Stub(self, self.collector.nodeid) for _ in range(self.known["all"] - len(self.tests))]


class Seen:
    """A file that is imported, and what it does outside of itself."""

    def __init__(self, collector, owner, source):
        self.collector, self.source, self.owners = collector, source, [owner]
        self.module, self.folder = None, _folder(str(collector.path))
        self.path, self.warned, self.all = list(sys.path), _warnings(), 0
        #: What it imports: names, and what is taken of each.
        self.imports = {}
        self.effects, self.maybe = set(), set()

    def own_module(self):
        """The name of the module that pytest made of it."""
        return getattr(getattr(self.collector, "_obj", None), "__name__", None)

    def is_own(self, owner):
        return owner in self.owners or (owner.kind == "import" and owner.file == self.source)


class Collecting:
    """One collection."""

    def __init__(self, plugin):
        self.plugin, self.watch = plugin, plugin.watch
        self.session, self.is_on = None, False
        self.scope = self.process = self.foreign = None
        #: Files that may stay out, by id; those that did, and those that are imported.
        self.may, self.texts, self.out, self.seen = {}, (), {}, {}
        #: The last parts of the names of their modules, and those that other sources have.
        self.names, self.named = frozenset(), set()
        self.order, self.files = {}, []
        #: The file that is at work, modules that are being imported for it, and whether these changed anything.
        self.now, self.depth, self.inner = None, 0, False
        #: Whether anything has effects that is neither a file nor a module that was imported.
        self.strange = False
        #: What cannot be looked into, and so is found changed at each look.
        self.always = set()
        #: Modules with effects, and functions that ran while these were imported.
        self.commons, self.common_bodies = set(), 0
        self.late = []
        #: The imports of each source, when all files are there.
        self.by_source = None

    # The beginning.

    @guarded
    def begin(self, session):
        self.session = session
        if self._why_not(session.config) is not None:
            return
        plugin = self.plugin
        self.is_on = True
        self._is_common(list(plugin.imports.files))
        self.common_bodies |= plugin.watch.everybody.bodies
        plugin.state.changes()
        self.process = ProcessState(session.config, session, plugin.imports.files, plugin.native)
        self.foreign = ForeignState(session.config, plugin.imports.files, plugin.native)
        self.more = self._more()
        for root, changed in plugin.state.changes().items():
            self.always.update((root, labels) for labels in changed)
        self.scope = plugin.scope()
        answer = plugin.link.ask({"files": self.selection(), "scope": self.scope, "folder": plugin.folder()})
        if isinstance(answer, dict):
            self.texts, self.may = answer["texts"], {known["file"]: known for known in answer["files"]}
            self.names = {_last(known["module"]) for known in answer["files"]}
            for file in set(plugin.imports.files.values()):
                self.looks_for(os.path.join(self.watch.root, file))
        plugin.imports.watcher = self

    def _why_not(self, config):
        """Why all files are imported as ever."""
        option, plugin = config.option, self.plugin
        chosen = next((name for name in _CHOOSING if getattr(option, name, None)), None)
        if chosen is not None:
            return "the option " + chosen
        if hasattr(config, "workerinput") or plugin.watch.is_left or not plugin.watch.by_function:
            return "this process"
        if any("::" in str(word) for word in config.args):
            return "tests are named"
        if getattr(option, "importmode", None) != "prepend" or measured(option) is not None:
            return "the way of importing"
        if plugin.folder() is None:
            return "the folder"
        return self._stranger(config)

    def _stranger(self, config):
        """A hook of somebody else that could see what is not there."""
        for name in _HOOKS:
            for implementation in getattr(config.hook, name).get_hookimpls():
                home = getattr(implementation.function, "__module__", None) or ""
                if not home.startswith(("_pytest.", "_tamis_")) and home not in _ONE_BY_ONE.get(name, ()):
                    return "%s of %s" % (name, home)
        return None

    def selection(self):
        """By what pytest chooses among the tests that it collected."""
        option = self.session.config.option
        names = ("keyword", "markexpr", "deselect")
        return repr([getattr(option, name, None) or None for name in names])

    # Files, one after the other.

    @guarded
    def opens(self, collector, owner):
        """A collector begins; `stays_out` says whether it is a file that does."""
        import _pytest.nodes as nodes

        if self.session is None:
            self.begin(collector.session)
        if not self.is_on or collector is self.session:
            return
        if not isinstance(collector, nodes.FSCollector):
            of = self.seen.get(id(collector.getparent(nodes.File)))
            if of is not None:
                of.owners.append(owner)
            return
        self._leave()
        if not isinstance(collector, nodes.File):
            return
        number = self.order.setdefault(id(collector), len(self.files))
        self.files.append(collector)
        if self._stays_out(collector, number):
            return
        self._bring_in_what_it_names(collector)
        import _pytest.python as python

        source = self.watch.file(str(collector.path))
        if type(collector) is python.Module and source is not None:
            self.now = self.seen[id(collector)] = Seen(collector, owner, source)

    def _stays_out(self, collector, number):
        import _pytest.python as python

        known = self.may.get(collector.nodeid)
        if known is None or _last(known["module"]) in self.named:
            return False
        if type(collector) is not python.Module or id(collector) in self.out:
            return False
        if self._stranger(self.session.config) is not None:
            self.may = {}
            return False
        is_done = self._imports_as(known)
        self._border()
        self.inner = False
        if is_done:
            self.out[id(collector)] = LeftOut(collector, known, self.texts, number, self._words)
        return is_done

    def _imports_as(self, known):
        """What the file would import, in the same order."""
        import _pytest.outcomes as outcomes

        folder = os.path.join(self.watch.root, known["path"]).rstrip(os.sep)
        if sys.path[0] != folder:
            sys.path.insert(0, folder)
        try:
            for name, of in known["imports"]:
                builtins.__import__(name, None, None, tuple(of), 0)
        except (Exception, outcomes.OutcomeException):  # The file itself is to say so.
            return False
        return True

    def instead(self, collector):
        """The report of a file that stays out."""
        if id(collector) not in self.out or self.out[id(collector)].items is not None:
            return None
        import _pytest.reports as reports

        return reports.CollectReport(collector.nodeid, "passed", None, [])

    def _bring_in_what_it_names(self, collector):
        """A file with the module's name of one that stayed out, or which names it, finds it imported."""
        if str(collector.path).endswith(".py"):
            self.looks_for(str(collector.path))

    def looks_for(self, path):
        """The files that a source names are imported, those before it as those behind it."""
        own = _last(os.path.basename(path)[: -len(".py")])
        words = {own} & self.names
        if self.names:
            words |= self.names.intersection(self._words(path)) - {own}
        self.named |= words
        for left in list(self.out.values()):
            if left.items is None and _last(left.known["module"]) in words:
                self.bring_in(left)

    def _words(self, path):
        """All words of a source; that we look at it says nothing about the tests."""
        owner, file = self.watch.owner, self.watch.file(path)
        was_read = file in owner.read
        try:
            number = _open(path, os.O_RDONLY)
        except OSError:
            return ()
        try:
            parts = []
            while part := _read(number, 1 << 20):
                parts.append(part)
        finally:
            _close(number)
            if not was_read:
                owner.read.discard(file)
        return _WORD.findall(b"".join(parts))

    def bring_in(self, left):
        """A file that stayed out is collected after all."""
        if left.items is None:
            left.items = []
            now, depth = self.now, self.depth
            if self.is_on:
                self._border(now)
                self.now, self.depth = None, 0
            getattr(self.session, "_collection_cache", {}).pop(left.collector, None)
            left.items = list(self.session.genitems(left.collector))
            self.late.extend(left.items)
            if self.is_on:
                self._leave()
                self.now, self.depth = now, depth

    # What is done outside of a file.

    def begins(self, file):
        """A module is going to be imported; whether `ends` is to be called."""
        if not self.is_on:
            return False
        if self.now is not None and file == self.now.source:
            return False
        if file is not None and self.names:
            self.looks_for(os.path.join(self.watch.root, file))
        if self.depth == 0:
            self._border(self.now, of_no_file=self.now is None)
            self.inner = False
        self.depth += 1
        return True

    @guarded
    def ends(self, name):
        self.depth -= 1
        if self.depth == 0 and self.is_on:
            has_effects = self._border() or self.inner
            self.inner = False
            if has_effects and name is not None:
                self._is_common([name])

    def writes(self, path):
        """A file is opened to be written, while a test file is imported."""
        if self.depth == 0 and os.sep + "__pycache__" + os.sep not in path and path != os.devnull:
            self.now.effects.add("a file that is written")

    def in_thread(self):
        if self.now is not None:
            self.now.effects.add("threads")

    def statement(self, name, globals, fromlist, level):
        """Something was imported: by the file itself, or by what it calls."""
        now = self.now
        if now is None or self.depth or not now.is_own(self.watch.owner):
            return
        if level:
            package = globals.get("__package__") or globals.get("__name__") or ""
            base = package.rsplit(".", level - 1)[0] if level > 1 else package
            name = base + "." + name if name else base
        now.imports[name, tuple(one for one in fromlist or () if type(one) is str)] = None

    def _is_common(self, names):
        """These and all that they import have to be as they are."""
        names, owners, _ = self.plugin.imports.closure(names)
        files = self.plugin.imports.files
        self.commons.update(files[name] for name in names if name in files)
        seen, todo = set(), list(owners)
        while todo:
            owner = todo.pop()
            if id(owner) not in seen:
                seen.add(id(owner))
                self.common_bodies |= owner.bodies
                todo.extend(owner.inner)
                if owner.kind == "import":
                    self.commons.add(owner.file)

    @guarded
    def changed(self, roots):
        """What was found changed in modules of the project, since the last look, by whoever is at work."""
        if self.is_on:
            self._add(self.now if self.depth == 0 else None, roots)

    def _add(self, now, roots):
        """Notes what changed: as done by a file, or by a module that is imported. What can be looked into is given."""
        own = now and now.own_module()
        new = [(root, labels) for root, changed in roots.items() for labels in set(changed)]
        if not self.always.issuperset(new):
            for root, changed in self.plugin.state.changes().items():
                self.always.update((root, labels) for labels in changed)
        found = [one for one in new if one not in self.always]
        if now is None:
            self.inner = self.inner or bool(found)
        else:
            now.effects.update("%s: %s" % (root, " ".join(sorted(labels))) for root, labels in found if root != own)
            now.maybe.update(one for one in new if one[0] != own and one in self.always)
        return found

    def _border(self, now=None, of_no_file=False):
        """Who was at work since the last one did what is different now; whether anything is."""
        owner = self.watch.owner if now is None or now.is_own(self.watch.owner) else now.owners[-1]
        for root, labels in self._add(now, self.plugin.state.changes()):
            self.plugin.write(root, [labels], owner)
        touched = self.foreign.touched()
        process = self.process.changes(touched)
        by_name, hidden = self.foreign.changes(touched)
        process += ["libraries: " + " ".join(sorted(labels)) for labels in (*by_name, *hidden)]
        before, self.more = self.more, self._more()
        process += [name for name in before if before[name] != self.more[name]]
        if now is not None:
            if "path" in process and sys.path == [now.folder, *now.path]:
                process.remove("path")
            now.effects.update(process)
        elif of_no_file and (self.inner or not _BY_PYTEST.issuperset(process)):
            self.strange = True
        return bool(process)

    def _more(self):
        """What `ProcessState` does not compare, because no test changes it."""
        hooks = [hook for hook in sys.meta_path if hasattr(hook, "_must_rewrite")]
        ends = getattr(atexit, "_ncallbacks", int)
        return {
            "plugins": len(self.session.config.pluginmanager.get_plugins()),
            "rewriting": [sorted(hook._must_rewrite) for hook in hooks],
            "exits": ends(),
        }

    def _leave(self):
        """The file that was at work is done."""
        now = self.now
        self._border(now, of_no_file=now is None)
        self.inner, self.now = False, None
        if now is None:
            return
        now.module = now.own_module()
        if now.warned is None or _warnings() != now.warned:
            now.effects.add("warnings")
        expected = os.path.relpath(str(now.collector.path), now.folder)[: -len(".py")].replace(os.sep, ".")
        if now.module != expected or type(sys.modules.get(now.module)) is not types.ModuleType:
            now.effects.add("another name")

    # The end.

    def before_hooks(self, config, items):
        """Before anybody looks at the items: where somebody does, or it is another run after all, all files are imported."""
        if self.is_on and not self.watch.is_broken:
            self._close(config)
        if self.watch.is_broken:
            self.is_on = False
            self._bring_in_all()
        if self.late:
            items.extend(self.late)
            items.sort(key=self._number)
            self.late = []
        if self.is_on:
            for item in items:
                self._note(item)

    @guarded
    def _close(self, config):
        self._leave()
        if self._stranger(config) is not None or self.plugin.scope() != self.scope:
            self._bring_in_all()
            self.seen = {}

    def _bring_in_all(self):
        for left in list(self.out.values()):
            self.bring_in(left)

    def _number(self, item):
        import _pytest.nodes as nodes

        if hasattr(item, "is_out"):
            return item.file.order
        return self.order.get(id(item.getparent(nodes.File)), len(self.files))

    def _of(self, item):
        import _pytest.nodes as nodes

        return self.seen.get(id(item.getparent(nodes.File)))

    def _note(self, item):
        import _pytest.python as python

        seen = self._of(item)
        if seen is None:
            return
        seen.all += 1
        if not isinstance(item, python.Function):
            seen.effects.add("tests of another kind")
        scopes = getattr(getattr(item, "callspec", None), "_arg2scope", {})
        if any(scope.value in ("session", "package") for scope in scopes.values()):
            seen.effects.add("the order of tests by a wide parameter")

    def with_left_out(self, items):
        """All tests that pytest would have chosen, in their order."""
        left = sorted((one for one in self.out.values() if one.items is None), key=lambda one: one.order)
        if not left:
            return items
        found = []
        for item in reversed(items):
            while left and left[-1].order > self._number(item):
                found.extend(reversed(left.pop().tests))
            found.append(item)
        while left:
            found.extend(reversed(left.pop().tests))
        return found[::-1]

    def counts(self):
        return {"out": sum(one.items is None for one in self.out.values()), "of": len(self.files)}

    def with_late(self, everyone, answer):
        """The tests that stayed out and have to run after all, with their files."""
        runs = {one.nodeid: runs for one, runs in zip(everyone, answer) if hasattr(one, "is_out")}
        late = {id(one.file): one.file for one in everyone if runs.get(one.nodeid) and hasattr(one, "is_out")}
        if not late:
            return everyone, answer
        both = [(one, runs) for one, runs in zip(everyone, answer) if not hasattr(one, "is_out") or id(one.file) not in late]
        for left in late.values():
            self.bring_in(left)
            has_more = left.known["all"] > len(left.known["ids"])
            both += [(one, runs.get(one.nodeid, True)) for one in left.items if one.nodeid in runs or not has_more]
        self.late = []
        both.sort(key=lambda pair: self._number(pair[0]))
        return [one for one, _ in both], [runs for _, runs in both]

    def with_unchosen(self, proven):
        """What pytest is to show as deselected; it shows how many it collected, too."""
        left = [one for one in self.out.values() if one.items is None]
        terminal = self.session.config.pluginmanager.get_plugin("terminalreporter") if left else None
        if isinstance(getattr(terminal, "_numcollected", None), int):
            terminal._numcollected += sum(one.known["all"] for one in left)
        return [*proven, *(stub for one in left for stub in one.unchosen())]

    def imported(self, back, order):
        """Tests that are put back, as pytest runs them: the files of those that stayed out are imported now."""
        found = {}
        self.watch.resume()
        for one in back:
            if not hasattr(one, "is_out"):
                found[id(one)] = one
                continue
            self.bring_in(one.file)
            named = [item for item in one.file.items if item.nodeid == one.nodeid]
            for item in named or one.file.items:
                order[id(item)] = order.get(id(one), 0)
                found[id(item)] = item
        self.late = []
        self.watch.rest()
        return list(found.values())

    @guarded
    def tell(self, items):
        """What is known of the files that were imported."""
        self.is_on, self.plugin.imports.watcher = False, None
        by_file = {}
        for item in items:
            seen = self._of(item)
            if seen is not None:
                by_file.setdefault(id(seen), (seen, []))[1].append(item)
        if not by_file:
            return
        files = [self._describe(seen, chosen) for seen, chosen in by_file.values()]
        for seen in self.seen.values():
            if id(seen) not in by_file:
                self._has_effects(seen)
        known, bodies = self.watch.known, self.common_bodies
        ran = []
        while bodies:
            ran.append(known[(bodies & -bodies).bit_length() - 1])
            bodies &= bodies - 1
        self.plugin.link.send({
            "collected": files, "selection": self.selection(), "scope": self.scope, "folder": self.plugin.folder(),
            "commons": {"modules": sorted(self.commons), "bodies": ran},
        })  # fmt: skip

    def _describe(self, seen, chosen):
        from _tamis_evidence import conftests

        ids = [item.nodeid for item in chosen]
        if len(set(ids)) != len(ids):
            seen.effects.add("two tests of one name")
        if self.strange:
            seen.effects.add("something else")
        bodies = windows = 0
        for owner in self._owners(seen):
            bodies, windows = bodies | owner.bodies, windows | owner.windows
        names = self.plugin.imports.closure({seen.module, *conftests(self.plugin, chosen[0])})[0]
        for root, labels in seen.maybe:
            is_seen = root in names or root not in self.plugin.imports.files
            if is_seen and (not labels or self.watch.mention(labels) & bodies):
                seen.effects.add("what cannot be looked into in " + str(root))
        if seen.effects:
            self._has_effects(seen)
        imports = [[name, list(of)] for name, of in seen.imports if name != seen.module]
        if "." in (seen.module or ""):
            imports.insert(0, [seen.module.rpartition(".")[0], []])
        fixtures = {name for item in chosen for name in item.fixturenames}
        return {
            "file": seen.collector.nodeid, "ids": ids, "all": seen.all, "module": seen.module or "",
            "path": os.path.relpath(seen.folder, self.watch.root), "imports": imports,
            "names": sorted(name for name in names if name), "fixtures": sorted(fixtures), "windows": "%x" % windows,
            "effects": sorted(seen.effects),
        }  # fmt: skip

    def _owners(self, seen):
        """Whose windows those of a file are."""
        if self.by_source is None:
            self.by_source = {}
            for one in (one for owners in self.plugin.imports.owners.values() for one in owners):
                if one.kind == "import":
                    self.by_source.setdefault(one.file, []).append(one)
        return [*seen.owners, *self.by_source.get(seen.source, ())]

    def _has_effects(self, seen):
        self._is_common([seen.module] if seen.module else [])
        self.commons.add(seen.source)
        for owner in self._owners(seen):
            self.common_bodies |= owner.bodies


def _last(name):
    return name.rpartition(".")[2].encode()


def _folder(path):
    """The one that pytest puts on the path: the first above a file that is no package."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _warnings():
    """How many warnings were given; None where that is not known."""
    log = getattr(getattr(warnings, "_showwarnmsg_impl", None), "__self__", None)
    return len(log) if type(log) is list else None
