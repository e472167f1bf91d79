"""What libraries keep for themselves, where a test changed it and left it so. PYTEST_DONT_REWRITE

Compared are, by the identity of what they refer to: the names of the modules that are not the project's
(`ForeignState`), the attributes of the classes that stand there, and the dictionaries; besides, what functions of the
standard library set at other places (`settings`), and the handlers of loggers. Who changed one of these counts for
later tests, for all of them where not only code that has the changed name can find it.

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
}  # fmt: skip
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
    """Sets of labels by which code finds what changed; an empty one where libraries find it for all."""
    found = []
    for name in before.keys() | now.keys():
        was, value = before.get(name, _NOTHING), now.get(name, _NOTHING)
        if was is value or name in _DERIVED or isinstance(value, types.ModuleType):
            continue
        is_for_all = is_within or type(name) is not str or name.startswith("_")
        found.append(frozenset() if is_for_all else frozenset((name,)))
    return found


def settings():
    """What functions of the standard library set where no name shows it."""
    return [(name, look(module)) for name, look in _SETTINGS for module in (sys.modules.get(name),) if module is not None]


def _dialects(csv):
    kinds = [(name, csv.get_dialect(name)) for name in csv.list_dialects()]
    return [
        (name, d.delimiter, d.doublequote, d.escapechar, d.lineterminator, d.quotechar, d.quoting, d.skipinitialspace, d.strict)
        for name, d in kinds
    ]


def _limits(resource):
    return [resource.getrlimit(value) for name, value in vars(resource).items() if name.startswith("RLIMIT_")]


def _timers(signal):
    """Whether they run: the time that is left is another one at each look."""
    return [(timer[0] > 0, timer[1]) for timer in map(signal.getitimer, range(3))]


def _types(mimetypes):
    known = mimetypes._db
    if known is None:
        return None
    return [sorted(found.items()) for found in (*known.types_map, known.encodings_map, known.suffix_map)]


_SETTINGS = (
    ("_csv", _dialects),
    ("gc", lambda gc: (gc.get_threshold(), gc.get_debug())),
    ("resource", _limits),
    ("_signal", _timers),
    ("mimetypes", _types),
    ("calendar", lambda calendar: calendar.c.firstweekday),
)


def handlers():
    """The handlers of loggers, but for pytest's own: what they hold is compared in depth."""
    loggers = [logging.root, *list(logging.root.manager.loggerDict.values())]
    for logger in loggers:
        for handler in getattr(logger, "handlers", None) or ():
            if not type(handler).__module__.startswith(("_pytest", "pytest", "xdist")):
                yield handler
