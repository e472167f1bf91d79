"""What libraries keep for themselves, where a test changed it and left it so. PYTEST_DONT_REWRITE

Compared are, by the identity of what they refer to: the names of the modules that are not the project's
(`ForeignState`), the attributes of the classes that stand there, and the dictionaries; besides, what functions of the
standard library set at other places (`settings`), and the handlers of loggers. Who changed one of these counts for
later tests that can ask for it: whose code has the changed name or, where functions of the library find it for them,
the name of a library that uses the changed one (`Users`).

Not seen is what other objects of libraries hold, and what extension modules keep.
"""

import gc
import logging
import sys
import types

#: Attributes and names that are filled where they are asked for, and whose values follow from what is there.
_DERIVED = {
    "__annotations__", "__annotations_cache__", "__annotate__", "__annotate_func__", "__abstractmethods__", "__doc__",
    "__non_callable_proto_members__", "__protocol_attrs__", "__warningregistry__", "__match_args__", "_abc_impl",
    "__static_attributes__", "__signature__", "__weakref__", "__dict__", "__path__", "__file__", "__spec__",
    "__slotnames__", "modulesbyfile", "_filesbymodname",
}  # fmt: skip
#: What a library makes for itself at the first use; something else in this place is a change.
_MADE_AT_FIRST_USE = {"_event_loop_policy": "asyncio", "_db": "mimetypes"}
_NOTHING = object()


def spaces_within(module, names):
    """The dictionaries of the classes of a module, and those that stand in its names."""
    for name, value in list(names.items()):
        kind = type(value)
        if kind is dict:
            if name not in _DERIVED and "cache" not in name.lower():
                yield value
        elif issubclass(kind, type) and value.__module__ == module:
            # What `__dict__` gives is a view of it.
            yield from (space for space in gc.get_referents(type.__dict__["__dict__"].__get__(value)) if type(space) is dict)


def differences(before, now, is_within):
    """The names that changed, and whether functions of the library may find each for others."""
    for name in before.keys() | now.keys():
        was, value = before.get(name, _NOTHING), now.get(name, _NOTHING)
        if was is value or name in _DERIVED or isinstance(value, types.ModuleType):
            continue
        is_hidden = is_within or type(name) is not str or name.startswith("_")
        maker = _MADE_AT_FIRST_USE.get(name) if is_hidden and was is None and type(name) is str else None
        if maker is None or type(value).__module__.partition(".")[0] != maker:
            yield name, is_hidden


class Users:
    """Which libraries use a library, directly or not: by what stands in the names of their modules."""

    def __init__(self, config, is_project):
        self.config, self.is_project = config, is_project
        self.count, self.used_by, self.known = -1, {}, {}

    def labels(self, module):
        """The names of the modules by which code comes to what this one keeps; none where plugins come to it."""
        if self.count != len(sys.modules):
            self.count, self.known = len(sys.modules), {}
            self._look()
        top = module.partition(".")[0]
        found = self.known.get(top)
        if found is None:
            users = self._users(top)
            found = frozenset(name for name in list(sys.modules) if name.partition(".")[0] in users)
            found = self.known[top] = frozenset() if users & self._plugins() else found
        return found

    def _users(self, top):
        seen, todo = set(), [top, top.lstrip("_")]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(self.used_by.get(one, ()))
        return seen

    def _look(self):
        self.used_by = {}
        for name, module in list(sys.modules.items()):
            if type(module) is not types.ModuleType or self.is_project(name) or name.startswith(("_pytest", "_tamis")):
                continue
            top = name.partition(".")[0]
            for value in list(vars(module).values()):
                home = value.__name__ if type(value) is types.ModuleType else getattr(type(value), "__module__", None)
                if isinstance(value, (type, types.FunctionType)):
                    home = value.__module__
                if type(home) is str and home.partition(".")[0] != top:
                    self.used_by.setdefault(home.partition(".")[0], set()).add(top)

    def _plugins(self):
        """Installed plugins, whose fixtures work for tests that do not name them."""
        plugins = self.config.pluginmanager.get_plugins()
        names = (getattr(plugin, "__name__", None) for plugin in plugins)
        tops = {name.partition(".")[0] for name in names if type(name) is str and not self.is_project(name)}
        return tops - {"_pytest", "pytest", "pluggy", "xdist", "_tamis_pytest"}


def settings():
    """What functions of the standard library set where no name shows it, by module."""
    return {name: look(module) for name, look in _SETTINGS for module in (sys.modules.get(name),) if module is not None}


def _dialects(csv):
    """Their names, and they themselves: one that was registered stays as it is."""
    names = csv.list_dialects()
    return names, list(map(csv.get_dialect, names))


def _csv(csv):
    return _dialects(csv), csv.field_size_limit()


def _limits(resource, known=[]):
    if not known:
        known.extend(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
    return list(map(resource.getrlimit, known))


def _timers(signal):
    """Whether they run: the time that is left is another one at each look."""
    return [(timer[0] > 0, timer[1]) for timer in map(signal.getitimer, range(3))]


def _start_method(context):
    default = context._default_context
    return (default._actual_context or default._default_context).get_start_method()


def _types(mimetypes):
    known = mimetypes._db
    if known is None:
        return None
    return [sorted(found.items()) for found in (*known.types_map, known.encodings_map, known.suffix_map)]


_SETTINGS = (
    ("csv", _csv),
    ("gc", lambda gc: (gc.get_threshold(), gc.get_debug(), gc.get_freeze_count() > 0, list(map(id, gc.callbacks)))),
    ("resource", _limits),
    ("_signal", _timers),
    ("mimetypes", _types),
    ("calendar", lambda calendar: calendar.c.firstweekday),
    ("multiprocessing.context", _start_method),
    ("readline", lambda readline: readline.get_current_history_length()),
    ("faulthandler", lambda faulthandler: faulthandler.is_enabled()),
    ("tracemalloc", lambda tracemalloc: tracemalloc.is_tracing()),
)


def handlers():
    """The handlers of loggers, but for pytest's own: what they hold is compared in depth."""
    loggers = [logging.root, *list(logging.root.manager.loggerDict.values())]
    for logger in loggers:
        for handler in getattr(logger, "handlers", None) or ():
            if not type(handler).__module__.startswith(("_pytest", "pytest", "xdist")):
                yield handler
