"""What tests leave now and left not before: who was left out and can see it runs after all. PYTEST_DONT_REWRITE

That a test need not run was decided by what earlier tests left when it was recorded. A test that changed may leave
more: a setting that it did not touch, or touched without effect, a name that was not there. Each test's record has its
*places*: what was changed after it, as texts that are the same in each process. A place is new where the record of
the test does not have it, and no test that was left out has it either: what that one would have left, such as the
content of a cache, the next one leaves that comes to it.

Who stands behind it in pytest's order, was left out, and reaches the place by imports or fixtures, is put back. Not seen
are places where another test, that was left out, left something else; the numbers of `random`; and workers of
xdist, which have no order.
"""

import re
import sys
import types

from _tamis_evidence import conftests
from _tamis_process import BY_CHANCE
from _tamis_watch import mentions

_NUMBERS = re.compile(r"[0-9a-f]*[0-9][0-9a-f]*")
#: Plugins that give tests another order each time.
_SHUFFLERS = ("randomly", "random_order", "reverse")


class Left:
    """Tests that were left out, and the places of those that are known."""

    def __init__(self, plugin, items, runs, known):
        """`known`: the places of each test by its record, where there are any; None where it is not known of all."""
        self.plugin = plugin
        self.order = {id(item): at for at, item in enumerate(items)}
        self.out = [item for item, run in zip(items, runs) if not run]
        self.known = {} if known is None else known
        shuffles = any(plugin.config.pluginmanager.hasplugin(name) for name in _SHUFFLERS)
        self.is_on = known is not None and not shuffles and not hasattr(plugin.config, "workerinput")
        self.by_others = {place for item in self.out for place in self.known.get(item.nodeid, ())}
        self.texts, self.named = {}, {}

    def places(self, changed, process):
        """Texts of what was changed, with the holder and the names on the way."""
        found = {}
        for root, labels in changed:
            if root == "process":
                found.update(("process: " + name, (root, frozenset())) for name in process)
                continue
            for one in labels:
                if (root, one) not in self.plugin.always and one is not BY_CHANCE:
                    found[self._text(root, one)] = (root, one)
        return found

    def _text(self, root, labels):
        known = self.texts.get((root, labels))
        if known is None:
            holder = root
            if type(root) is int:
                definition = self.plugin.fixtures.get(root, (None,))[0]
                holder = "fixture %s" % getattr(definition, "argname", "")
            known = "%s: %s" % (holder, " ".join(sorted(labels)))
            known = self.texts[root, labels] = _NUMBERS.sub("0", known)
        return known

    def new(self, test, places):
        """The places that are new of a test that ran."""
        if not self.is_on or not self.out:
            return {}
        before = self.known.get(test.item.nodeid, ())
        return {text: at for text, at in places.items() if text not in before and text not in self.by_others}

    def seeing(self, test, places):
        """Who was left out, comes after this test, and can see one of these places; with the first that each sees."""
        mine = self.order.get(id(test.item), len(self.order))
        found = []
        for item in self.out:
            if self.order[id(item)] > mine:
                seen = next((text for text, (root, labels) in places.items() if self._sees(item, root, labels)), None)
                if seen is not None:
                    found.append((item, seen))
        return found

    def _sees(self, item, root, labels):
        if type(root) is int:
            if hasattr(item, "is_out"):
                return getattr(self.plugin.fixtures.get(root, (None,))[0], "argname", None) in item.fixtures
            definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
            return any(id(one) == root for all_of_name in definitions for one in all_of_name)
        if root not in self.plugin.imports.files and root not in ("libraries", "in libraries"):
            return True
        names = self._reach(item)
        if root in names:
            return True
        if root not in ("libraries", "in libraries"):
            return False
        if hasattr(item, "is_out") and not labels.isdisjoint(item.file.words()):
            # Its own code is not here, but for its text.
            return True
        return not labels or any(not labels.isdisjoint(self._names_in(name)) for name in names)

    def _reach(self, item):
        module = getattr(item, "module", None)
        names = set(getattr(item, "reach", ())) if module is None else {module.__name__}
        names.update(conftests(self.plugin, item))
        return self.plugin.imports.closure(names)[0]

    def _names_in(self, name):
        """All names that the code of a module has, those of functions that never ran included."""
        known = self.named.get(name)
        if known is None:
            module, known, seen = sys.modules.get(name), set(), set()
            todo = [vars(module)] if type(module) is types.ModuleType else []
            while todo:
                space = todo.pop()
                known.update(key for key in space if type(key) is str)
                for value in list(space.values()):
                    value = getattr(value, "__wrapped__", getattr(value, "__func__", value))
                    if type(value) is types.FunctionType:
                        known |= _all_names(value.__code__)
                    elif isinstance(value, type) and value.__module__ == name and value not in seen:
                        seen.add(value)
                        todo.append(dict(vars(value)))
            self.named[name] = known
        return known

    def taken_back(self, items):
        """These run."""
        back = set(map(id, items))
        self.out = [item for item in self.out if id(item) not in back]


def _all_names(code):
    found, todo = set(), [code]
    while todo:
        one = todo.pop()
        found |= mentions(one)
        todo.extend(part for part in one.co_consts if type(part) is type(one))
    return found
