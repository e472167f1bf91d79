"""What stays in the process and belongs to no module of the project. PYTEST_DONT_REWRITE"""

import builtins
import contextvars
import gc
import locale
import logging
import operator
import os
import random
import signal
import sys
import threading
import types
import warnings

from _tamis_library import Users, differences, settings, spaces_within

# Tests put other functions in the place of those of the library: what is used here is taken before.
_umask, _getstate = os.umask, random.getstate
#: Attributes of pytest's configuration that are its own.
_PYTESTS = {
    "option", "invocation_params", "pluginmanager", "stash", "trace", "hook", "args", "args_source", "cache",
    "known_args_namespace", "inicfg", "workerinput", "workeroutput", "invocation_dir", "rootdir", "inifile",
    "workerconfig",
}  # fmt: skip
#: And those of its session.
_OF_SESSIONS = {
    "name", "parent", "config", "session", "path", "fspath", "keywords", "own_markers", "extra_keyword_matches", "stash",
    "testsfailed", "testscollected", "shouldstop", "shouldfail", "trace", "startpath", "startdir", "items", "exitstatus",
    "starttime", "nodeid",
}  # fmt: skip
#: Libraries that work on behalf of pytest, and change while it runs.
_AROUND = ("_pytest", "pytest", "pluggy", "xdist", "execnet", "sys", "builtins", "_tamis", "importlib", "_frozen")


#: What changes in `sys` while tests run, or is compared by itself.
_OF_PYTHON = {
    "last_type", "last_value", "last_traceback", "last_exc", "stdin", "stdout", "stderr", "path_importer_cache",
    "modules", "meta_path", "path", "path_hooks", "excepthook", "unraisablehook", "argv",
}  # fmt: skip
#: By one of these names code comes to the numbers that modules share.
BY_CHANCE = frozenset(("random", "Random", "seed", *(name for name in dir(random.Random) if name[0] != "_")))


def _is_of_library(value, known={}):
    """Whether a plugin that is installed keeps this for itself."""
    kind = type(value)
    found = known.get(kind)
    if found is None:
        home = sys.modules.get(kind.__module__)
        file = getattr(home, "__file__", None) or ""
        found = known[kind] = any(part.endswith("-packages") for part in file.split(os.sep))
    return found


def _stash_keys(modules):
    """The keys of pytest's stash that these modules have, by address."""
    found = set()
    for module in modules:
        if type(module) is not types.ModuleType:
            continue
        for value in list(vars(module).values()):
            inner = vars(value).values() if isinstance(value, type) and module.__name__.startswith("_pytest") else ()
            found.update(id(one) for one in (value, *inner) if type(one).__name__ == "StashKey")
    return found


def _without(space, names):
    """The names and values of a dictionary, but for these."""
    space = dict.copy(space)
    for name in names:
        space.pop(name, None)
    return list(space), list(map(id, space.values()))


def _chance(native):
    """A function that says where the numbers of `random` are; all 625 of its own as Python's integers are dear."""
    shared = getattr(_getstate, "__self__", None)
    base = random.Random.__mro__[1]
    if native is None or type(shared) is not random.Random or base.__module__ != "_random":
        return _getstate
    size, other = base.__basicsize__, random.Random(1)

    def look(one=shared):
        return native.content(one, size), getattr(one, "gauss_next", None)

    seen = [look(other)]
    for step in (other.random, lambda: other.gauss(0, 1), lambda: other.seed(2), lambda: other.getrandbits(1)):
        step()
        seen.append(look(other))
    return look if len(set(seen)) == len(seen) else _getstate


def _is_put_in(module):
    """Whether this is among the modules without having been imported."""
    return not isinstance(module, types.ModuleType) or vars(module).get("__spec__") is None


def _is_installed(module):
    """Whether this comes with the interpreter or was installed."""
    file = getattr(module, "__file__", None)
    if type(file) is not str:
        return getattr(getattr(module, "__spec__", None), "origin", None) in ("built-in", "frozen")
    return "-packages" + os.sep in file or file.startswith(_LIBRARIES)


#: Where the interpreter's own libraries are.
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep,)
#: Names that are looked at only where they were touched: modules, those of `sys`, and those that need no import.
_FIRST = (sys.modules, vars(sys), vars(builtins))
# Without the names of signals, which cost more than the answer. Tests may put other functions in these places.
_handler_of = getattr(sys.modules.get("_signal"), "getsignal", signal.getsignal)
_setlocale, _ALL = locale.setlocale, locale.LC_ALL


_mask_of = getattr(sys.modules.get("_signal"), "pthread_sigmask", signal.pthread_sigmask)
_getpriority = getattr(os, "getpriority", None)


def _ids(things):
    return list(map(id, things))


def _blocked():
    return frozenset(_mask_of(signal.SIG_BLOCK, ()))


def _priority():
    return _getpriority(os.PRIO_PROCESS, 0)


def _of_decimal(decimal):
    return repr(decimal.getcontext()), repr(decimal.DefaultContext)


def _locale_now():
    return _setlocale(_ALL)


class ProcessState:
    """What belongs to no module: compared as values before each test."""

    def __init__(self, config, session, modules, native=None):
        self.config, self.session, self.modules = config, session, modules
        self.native = native
        self.keys_of_others = _stash_keys(module for name, module in list(sys.modules.items()) if name not in modules)
        self.threads = threading.active_count()
        #: Whether the garbage collector was on at the end of the last test; while we compare it is off.
        self.collects = gc.isenabled()
        self.known = [name for name in modules if name in sys.modules]
        self.seen, self.holds, self.names_of_python = {}, {}, {}
        self.seen = self.look(None)

    def look(self, touched):
        """All of it now; what is in the names of modules only where they were touched (`ForeignState.touched`)."""
        self.holds = self.held()
        decimal = sys.modules.get("decimal")
        socket = sys.modules.get("socket")
        return {
            "environment": self._environment(),
            "folder": self._folder(),
            "path": list(sys.path),
            "hooks": (*map(_ids, (sys.meta_path, sys.path_hooks)), id(sys.excepthook), id(sys.unraisablehook)),
            **self._in_names(touched),
            "warnings": list(warnings.filters),
            "locale": self._quietly(_locale_now),
            "decimal": _of_decimal(decimal) if decimal else None,
            "sockets": (socket.getdefaulttimeout(),) if socket else None,
            "signals": (list(map(_handler_of, range(1, 32))), _blocked()),
            "priority": self._quietly(_priority),
            "context": [(id(key), id(value)) for key, value in contextvars.copy_context().items()],
            "logging": self._logging(),
            "configuration": [(name, id(value)) for name, value in self.holds.items()],
            "arguments": list(sys.argv),
            "mask": self._mask(),
            "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()),
            "collector": self.collects,
        }

    def _in_names(self, touched):
        modules, of_python, of_builtins = (touched is None or place in touched for place in range(len(_FIRST)))
        modules = modules or sys.modules is not _FIRST[0]
        found = {name: self.seen.get(name) for name in ("modules", "put in", "interpreter", "builtins")}
        if modules:
            found["modules"] = list(map(sys.modules.get, self.known))
            found["put in"] = [(name, id(one)) for name, one in list(sys.modules.items()) if _is_put_in(one)]
        if of_python and not (self.native is not None and self.native.same_items(vars(sys), self.names_of_python)):
            # What a test that failed left there, with all of its frames, is not held.
            self.names_of_python = {} if "last_value" in vars(sys) else dict.copy(vars(sys))
            found["interpreter"] = _without(vars(sys), _OF_PYTHON)
        if of_builtins:
            found["builtins"] = self._builtins()
        return found

    def _environment(self):
        """As Python and the process have it; without what pytest itself says in it."""
        variables = dict(getattr(os.environ, "_data", os.environ))
        for name in (b"PYTEST_CURRENT_TEST", "PYTEST_CURRENT_TEST"):
            variables.pop(name, None)
        return variables, None if self.native is None else self.native.environment()

    @staticmethod
    def _builtins():
        return _without(vars(builtins), ("_",))

    def held(self):
        """What the project keeps in pytest's configuration and session."""
        found = {}
        for holder, known in ((self.config, _PYTESTS), (self.session, _OF_SESSIONS)):
            prefix = "config." if holder is self.config else "session."
            for name, value in vars(holder).items():
                if name not in known and not name.startswith("_") and not _is_of_library(value):
                    found[prefix + name] = value
            for key, value in getattr(getattr(holder, "stash", None), "_storage", {}).items():
                if id(key) not in self.keys_of_others and not _is_of_library(value):
                    found["%sstash %d" % (prefix, id(key))] = value
        return found

    @staticmethod
    def _quietly(function):
        try:
            return function()
        except Exception:
            return None

    @staticmethod
    def _mask():
        """Which permissions new files do not get; asking for it sets it, which other threads could notice."""
        if threading.active_count() > 1:
            return None
        mask = _umask(0o77)
        _umask(mask)
        return mask

    def _folder(self):
        return self._quietly(os.getcwd)

    def _logging(self):
        """Loggers by what was set; one that is new and as new ones are is none."""
        loggers = {"": logging.root, **logging.root.manager.loggerDict}
        found = {"disable": logging.root.manager.disable}
        for name, logger in loggers.items():
            if isinstance(logger, logging.Logger):
                handlers = [(id(handler), handler.level) for handler in logger.handlers]
                settings = (logger.level, logger.propagate, logger.disabled, handlers, len(logger.filters))
                if settings != (0, True, False, [], 0):
                    found[name] = settings
        return found

    def has_library(self):
        """A library that a test imports has its state from here on."""
        for name, look in (("decimal", _of_decimal), ("socket", lambda socket: (socket.getdefaulttimeout(),))):
            # Of the same form as in `look`.
            key = "sockets" if name == "socket" else name
            if self.seen[key] is None and hasattr(sys.modules.get(name), "__file__"):
                self.seen[key] = self._quietly(lambda: look(sys.modules[name]))

    def changes(self, touched):
        now = self.look(touched)
        # A module that was not there had its state from the beginning.
        changed = [name for name in now if now[name] != self.seen[name] and self.seen[name] is not None]
        self.seen = now
        if threading.active_count() > self.threads:
            changed.append("threads")
        return changed


class ForeignState:
    """The names of libraries: what a test put in the place of one of their functions, and left there."""

    def __init__(self, config, modules, native=None):
        self.modules, self.native = modules, native
        self.users, self.settings = Users(config, modules.__contains__), settings()
        self.chance = _chance(native)
        self.chances = self.chance()
        # What is in the first ones is compared by `ProcessState`.
        self.names, self.spaces, self.copies = {}, list(_FIRST), [{} for _ in _FIRST]
        #: The module of each.
        self.homes = ["" for _ in _FIRST]
        #: How many modules there were at the last look, and at the last one during a test.
        self.counts = [None, None]
        #: The places of what is inside of a module's names.
        self.within = set()
        self.look()

    def look(self, during=False):
        """Adds the modules that are new; `during` a test, whose changes until now are still to be found.

        What a test loads from elsewhere than a library's folders it may expect to go before its end: it is not held.
        """
        self.counts[during] = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if self.names.get(name) is module or (during and not _is_installed(module)):
                continue
            self.names[name] = module
            is_foreign = type(module) is types.ModuleType and name not in self.modules
            if is_foreign and (name == "pytest" or not name.startswith(_AROUND)):
                self._add(name, vars(module))
                for space in spaces_within(name, vars(module)):
                    self.within.add(len(self.spaces))
                    self._add(name, space)
        if self.native is None:
            # What was changed before this look is not compared by it: all names are, next time.
            self.refs = None if during else gc.get_referents(*self.spaces)
        else:
            self.native.spaces(self.spaces)

    def has_library(self):
        """A library that a test imports is looked at before the test can change it."""
        if len(sys.modules) != self.counts[True]:
            self.look(during=True)
            for module, value in settings().items():
                self.settings.setdefault(module, value)

    def _add(self, module, space):
        self.homes.append(module)
        self.spaces.append(space)
        self.copies.append(dict.copy(space))

    def touched(self):
        """The places of the modules whose names may have changed since this was asked; None where any may have."""
        if self.native is not None:
            return self.native.changed_spaces()
        now = gc.get_referents(*self.spaces)
        if self.refs is not None and len(now) == len(self.refs) and all(map(operator.is_, now, self.refs)):
            return ()
        self.refs = now
        return None

    def changes(self, touched):
        """Sets of labels: what code finds by a changed name, and what functions of libraries find for it."""
        before, self.chances = self.chances, self.chance()
        found, hidden = [] if before == self.chances else [BY_CHANCE], []
        self._names(touched, found, hidden)
        set_before, self.settings = self.settings, settings()
        for module, value in self.settings.items():
            if set_before.get(module, value) != value:
                hidden.append(self.users.labels(module))
        return found, hidden

    def _names(self, touched, found, hidden):
        places = range(len(self.spaces)) if touched is None else touched
        for at in places:
            if at < len(_FIRST):
                continue
            space, before = self.spaces[at], self.copies[at]
            if self.native is not None and self.native.same_items(space, before):
                continue  # What was set in it was taken back.
            self.copies[at] = dict.copy(space)
            for name, is_hidden in differences(before, self.copies[at], at in self.within):
                if is_hidden:
                    hidden.append(self.users.labels(self.homes[at]))
                else:
                    found.append(frozenset((name,)))
        if len(sys.modules) != self.counts[False] or self.counts[True] is not None:
            self.counts[True] = None
            self.look()
