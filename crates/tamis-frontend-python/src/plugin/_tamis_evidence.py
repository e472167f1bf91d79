"""What one test used, when it has ended. PYTEST_DONT_REWRITE"""

import os

from _tamis_watch import Owner


class Test(Owner):
    def __init__(self, item):
        super().__init__("test")
        self.item = item
        self.uses = set()
        self.passed = False
        self.failed = False
        self.groups = set()
        self.evidence = None
        self.has_written = False
        self.is_watched = True

    def reported(self, report):
        self.failed = self.failed or bool(report.failed)
        self.passed = self.passed or not report.failed


class Gathering:
    """All owners that count for a test, and the modules that they can reach."""

    def __init__(self, plugin, test):
        self.plugin, self.test = plugin, test
        self.owners, self.names, self.windows, self.files = {}, set(), set(), set()
        self.fixtures = set()

    def visit(self, *owners):
        todo = list(owners)
        while todo:
            owner = todo.pop()
            if id(owner) in self.owners:
                continue
            self.owners[id(owner)] = owner
            if owner.kind == "test" and owner is not self.test:
                self._visit_earlier(owner)
                continue
            self.windows.update(owner.windows)
            self.names |= owner.modules
            todo.extend(owner.inner)
            if owner.kind == "import":
                self.names.add(owner.name)
                self.files.add(owner.file)
            if owner.kind in ("test", "fixture"):
                todo.extend(self._fixtures_of(owner))

    def _visit_earlier(self, test):
        """A test that ended, as a whole."""
        if test.evidence is None:
            return
        windows, files, names = test.evidence
        self.windows |= windows
        self.files |= files
        self.names |= names

    def _fixtures_of(self, owner):
        made_in = getattr(owner, "made_in", None)
        if made_in is not None and made_in is not self.test:
            yield from made_in.groups
        for known in owner.uses:
            if known in self.plugin.fixtures:
                self.fixtures.add(known)
                yield self.plugin.fixtures[known][1]

    def close(self):
        """Adds the modules that are reached by imports, until there are no more."""
        before = None
        while before != (len(self.owners), len(self.names)):
            before = (len(self.owners), len(self.names))
            names, owners = self.plugin.imports.closure(self.names)
            self.names = names
            self.visit(*owners)
        files = self.plugin.imports.files
        self.files.update(files[name] for name in self.names if name in files)

    def mentioned(self, kinds):
        """The names in all that ran for this test in owners of these kinds; None where that is not known."""
        if not self.plugin.watch.by_function:
            return None
        found, todo = set(), [self.test]
        if "import" in kinds:
            todo.extend(self.owners.values())
        else:
            todo.extend(self.plugin.fixtures[known][1] for known in self.fixtures)
        seen = set()
        while todo:
            owner = todo.pop()
            if id(owner) not in seen:
                seen.add(id(owner))
                found |= owner.names
                todo.extend(owner.inner)
        return found

    def _sees(self, root):
        """Whether a holder of state is this test's; what belongs to no module is everybody's."""
        if root in ("process", "libraries") or str(root).startswith("config."):
            return True
        return root in self.names or root in self.fixtures

    def add_state(self):
        """Adds who changed what this test can see."""
        by_tests, by_imports = self.mentioned(("test",)), None
        for root, known in self.plugin.writers.items():
            if not self._sees(root):
                continue
            for labels, writers in known.items():
                for owner in writers:
                    mentioned = by_tests
                    if owner.kind != "test":
                        by_imports = mentioned = by_imports or self.mentioned(("import",))
                    gated = mentioned is not None and labels and (root in self.names or root == "libraries")
                    if owner is not self.test and not (gated and mentioned.isdisjoint(labels)):
                        self.test.groups.add(owner)
        self.visit(*self.test.groups)


def gather(plugin, test):
    gathering = Gathering(plugin, test)
    path = str(test.item.path)
    gathering.names.update(_conftests(plugin, test.item))
    module = getattr(test.item, "module", None)
    if module is not None:
        gathering.names.add(module.__name__)
    gathering.visit(plugin.watch.everybody, test, *plugin.collected.get(path, ()))
    before = None
    while before != (len(gathering.owners), len(gathering.names)):
        before = (len(gathering.owners), len(gathering.names))
        gathering.close()
        gathering.add_state()
    gathering.close()
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
            writes.send(_message(plugin, test, wall, why))
        return
    gathering = gather(plugin, test)
    process = plugin.after_test(test)
    if test.has_written:
        test.evidence = (gathering.windows, gathering.files, gathering.names)
    if not test.passed and not test.failed:
        return
    message = _message(plugin, test, wall, why)
    message["windows"] = sorted(gathering.windows)
    message["modules"] = sorted(gathering.files)
    if any(owner.forked for owner in gathering.owners.values()):
        message["all"] = _reach(plugin, gathering)
    if process:
        message["process"] = process
    plugin.hand_over(test, gathering.fixtures, message)


def _message(plugin, test, wall, why):
    return {
        "test": test.item.nodeid,
        "passed": not test.failed,
        "wall": wall,
        "windows": [],
        "modules": [],
        "looks": _looks(plugin, str(test.item.path)),
        "whole": not plugin.watch.by_function,
        "incomplete": why,
    }


def _reach(plugin, gathering):
    """The sources whose functions a copy of the process may run for this test."""
    item, names = gathering.test.item, set()
    names.update(_conftests(plugin, item))
    if getattr(item, "module", None) is not None:
        names.add(item.module.__name__)
    for owner in gathering.owners.values():
        if owner.kind in ("test", "fixture", "collect"):
            names |= owner.modules
    names, owners = plugin.imports.closure(names)
    files = {plugin.imports.files[name] for name in names if name in plugin.imports.files}
    return sorted(files | {owner.file for owner in owners if owner.kind == "import"})


def _conftests(plugin, item):
    """The conftests above a test, by the names of their modules."""
    folder, found = os.path.dirname(str(item.path)) + os.sep, []
    for name, file in plugin.imports.files.items():
        place = os.path.join(plugin.link.root, file)
        if os.path.basename(place) == "conftest.py" and folder.startswith(os.path.dirname(place) + os.sep):
            found.append(name)
    return found


def _looks(plugin, path):
    """Files that would count for a test if they were there: conftests and packages around it."""
    found, root = [], plugin.link.root
    folder = os.path.dirname(os.path.realpath(path))
    while folder.startswith(root):
        for name in ("conftest.py", "__init__.py"):
            found.append(os.path.join(folder, name)[len(root) + 1 :])
        if folder == root:
            break
        folder = os.path.dirname(folder)
    return found
