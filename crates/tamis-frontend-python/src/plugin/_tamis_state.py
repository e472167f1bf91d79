"""What stays in the process between tests, and which of it changed. PYTEST_DONT_REWRITE

The state of a module of the project is everything that can be reached from its names without passing through
another module: globals, class attributes, closures, defaults, attributes, items. Two looks at it are compared by
the identity of what each object refers to, which the garbage collector's own traversal gives in one call; only
where that differs, the objects are gone through one by one, and what changed has labels: the names on the way to it.

What cannot be looked into counts as changed in each window. What libraries keep for themselves, where no module
of the project refers to it, is not seen.
"""

import _abc
import _io
import collections
import collections.abc
import functools
import gc
import io
import itertools
import logging
import operator
import os
import random
import re
import sys
import threading
import types
import weakref

_referents = gc.get_referents
_lseek, _fstat, _fileno = os.lseek, os.fstat, operator.methodcaller("fileno")
_token, _dump = _abc.get_cache_token, _abc._get_dump
_is = operator.is_
#: What is asked of a file, and of the buffer of one, to know whether it is open.
_ASKED_OF_FILES, _ASKED_OF_BUFFERS = ("closed", "buffer", "__getattribute__"), ("closed", "fileno", "__getattribute__")
_ABC = type(vars(collections.abc.Sized)["_abc_impl"])
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
#: More objects than this are not looked at one by one before each test.
MOST = 300_000
_DEEPEST_LABELS = 12

_LEAVES = {
    int, str, float, bool, type(None), bytes, complex, type(...), type(NotImplemented), range,
    types.CodeType, types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, re.Pattern, re.Match, slice,
    type(threading.RLock()), type(sys.flags), types.FrameType,
    types.TracebackType, operator.itemgetter, operator.attrgetter, operator.methodcaller,
    type(vars(collections.namedtuple("_One", "name"))["name"]),
}  # fmt: skip
_CONTAINERS = {
    object, dict, list, tuple, set, frozenset, collections.deque, collections.OrderedDict,
    collections.defaultdict, functools.partial, types.CellType, types.MethodType, property,
    staticmethod, classmethod, types.MappingProxyType, types.SimpleNamespace, types.GenericAlias,
    BaseException, type(functools.lru_cache(lambda: 0)), super, type({}.keys()), type({}.values()),
    type({}.items()), types.BuiltinFunctionType, types.MethodWrapperType, types.ModuleType,
}  # fmt: skip
if hasattr(types, "UnionType"):
    _CONTAINERS.add(types.UnionType)
_WITHOUT_STATE = {
    "datetime", "decimal", "_decimal", "zoneinfo", "typing", "_typing", "_contextvars", "_abc", "_struct",
    "struct", "importlib", "_frozen_importlib", "_frozen_importlib_external", "_thread",
}  # fmt: skip
_NOT_STATE = {"__warningregistry__", "__spec__", "__loader__", "__cached__", "__builtins__"}
#: What these hold leads to everything that logs.
_STOPS = (logging.Manager, logging.PlaceHolder)
#: What a logger has from the beginning. `ProcessState` and `_tamis_library.handlers` compare what is in it.
_OF_LOGGERS = {"name", "level", "parent", "propagate", "handlers", "filters", "disabled", "manager", "_cache"}


def _digest_of(kind):
    """How the content of an object that the collector does not show is compared; None where it cannot be."""
    if issubclass(kind, bytearray):
        return bytes
    if issubclass(kind, logging.Logger):
        return lambda o: [(name, id(value)) for name, value in vars(o).items() if name not in _OF_LOGGERS]
    if kind is type(threading.Lock()):
        return kind.locked
    if kind.__name__ == "Context" and kind.__module__ == "decimal":
        return repr
    if kind is _ABC:
        return _registered
    if issubclass(kind, (io.StringIO, io.BytesIO)):
        return lambda o: None if o.closed else (o.getvalue(), o.tell())
    if issubclass(kind, random.Random):
        return lambda o: random.Random.getstate(o)
    if kind is itertools.count:
        return repr
    if kind in (type(iter([])), type(iter(())), type(iter({})), type(iter(set())), type(iter(""))):
        return operator.length_hint
    if kind is types.GeneratorType:
        return lambda o: o.gi_frame and o.gi_frame.f_lasti
    if kind is types.CoroutineType:
        return lambda o: o.cr_frame and o.cr_frame.f_lasti
    if issubclass(kind, _io._IOBase):
        return _of_file
    if kind.__module__ == "array":
        return lambda o: o.tobytes()
    return None


def _of_file(file):
    """Whether it is open, where it stands and how long it is, without writing out what it holds back.

    Standard streams, terminals and pipes have no place.
    """
    if file.closed:
        return None
    below = getattr(file, "buffer", file)
    try:
        number = _fileno(below)
        if number < 3 or not _lseek(number, 0, 1) >= 0:
            return True
        return _fstat(number).st_size, below.tell()
    except (OSError, ValueError, AttributeError):
        return True


def _is_text(kind):
    """Whether text files of this type ask only their buffer whether they are open."""
    text = _io.TextIOWrapper
    return issubclass(kind, text) and all(getattr(kind, name) is getattr(text, name) for name in _ASKED_OF_FILES)


def _in_memory(file):
    """The buffer of a text file, where it is in memory: `_of_file` says then only whether it is open.

    That is in the memory of these two objects: an open one has a buffer, and an open buffer has bytes.
    """
    below = file.buffer
    kind = type(below)
    is_usual = issubclass(kind, io.BytesIO) and all(getattr(kind, name) is getattr(io.BytesIO, name) for name in _ASKED_OF_BUFFERS)
    return below if is_usual and "fileno" not in below.__dict__ else None


class Kinds:
    """What to do with an object, by its type: 0 nothing, 1 go on, 2 compare its digest, 3 it counts as changed."""

    def __init__(self):
        self.known = {kind: 0 for kind in _LEAVES}
        self.known.update((kind, 1) for kind in _CONTAINERS if kind is not object)
        self.known.update({types.FunctionType: 1, type: 1, object: 0})
        self.digests = {}

    def of(self, kind):
        known = self.known.get(kind)
        if known is None:
            known = self.known[kind] = self._find(kind)
        return known

    def _find(self, kind):
        if issubclass(kind, _STOPS) or kind is threading.Thread:
            return 0
        module = kind.__module__ if isinstance(kind.__module__, str) else ""
        top = module.partition(".")[0]
        if top.startswith("_tamis_"):
            # Ours: a module that has `import_module` by its name has our function, and with it all that we know.
            return 0
        if top in ("_pytest", "pluggy", "xdist", "execnet"):
            return 1 if kind.__name__ in ("FixtureFunctionDefinition", "MarkDecorator", "Mark") else 0
        if issubclass(kind, (type, weakref.ref, threading.local)):
            return 1
        if issubclass(kind, types.ModuleType):
            return 1  # Those that were imported are roots of their own, and not entered from elsewhere.
        digest = _digest_of(kind)
        if digest is not None:
            self.digests[kind] = digest
            return 2
        if kind.__name__ == "unpack_iterator":
            return 3
        if top in _WITHOUT_STATE or kind.__name__ == "_lru_list_elem":
            return 0  # What a cache holds is shown by the cache itself.
        if all(self._is_open(base) for base in kind.__mro__):
            return 1
        return 3

    def _is_open(self, base):
        """Whether the collector shows all that an instance holds by this class."""
        if base in _CONTAINERS or base in _LEAVES or issubclass(base, BaseException):
            return True
        if not base.__flags__ & _HEAP or base.__flags__ & _IMMUTABLE:
            return base.__module__ in ("typing", "abc", "builtins") and base.__name__ in ("Generic", "Protocol", "ABC")
        if base.__module__ in sys.builtin_module_names:
            return issubclass(base, tuple)
        file = getattr(sys.modules.get(base.__module__), "__file__", None) or ""
        return not file.endswith((".so", ".pyd"))


class Root:
    """What can be reached from the names of one module, or from another holder of state."""

    def __init__(self, state, names):
        self.state, self.names = state, names
        self.look()

    def look(self):
        """Goes through all objects, and keeps for each its labels and what it refers to."""
        state, kinds = self.state, self.state.kinds
        namespace = self.names()
        self.objects, self.dicts, self.special, self.closed, self.slots = [], [], [], [], {}
        todo, seen = [(namespace, ())], {id(namespace)}
        while todo:
            thing, labels = todo.pop()
            children = state.children(thing)
            self._keep(thing, labels)
            if len(seen) > MOST:
                self.closed.append(())
                break
            for label, child in children:
                number = id(child)
                if number in seen or number in state.namespaces or label in _NOT_STATE:
                    continue
                kind = kinds.of(type(child))
                is_class = issubclass(type(child), type)
                if kind == 0 or (is_class and state.is_elsewhere(child, namespace)):
                    continue
                seen.add(number)
                path = labels
                if label is not None and len(labels) < _DEEPEST_LABELS:
                    path = (*labels, label)
                if kind == 3:
                    self.closed.append(path)
                    continue
                if kind == 2:
                    digest = kinds.digests[type(child)]
                    self.special.append((child, digest, _safely(digest, child), path))
                if is_class:
                    self.special.append((child, _subclasses, _subclasses(child), ("__subclasses__",)))
                if kind == 1 or type(child) in _RESUMED:
                    todo.append((child, path))
        self.refs = _referents(*self.objects)
        self.keys = list(_keys(self.dicts))

    def _keep(self, thing, labels):
        self.objects.append(thing)
        if issubclass(type(thing), dict):
            self.dicts.append(thing)
            self.slots[id(thing)] = (thing, labels, dict.copy(thing))
        else:
            self.slots[id(thing)] = (thing, labels, _referents(thing))

    def is_same(self):
        now = _referents(*self.objects)
        if len(now) != len(self.refs) or not all(map(_is, now, self.refs)):
            return False
        keys = list(_keys(self.dicts))
        if len(keys) != len(self.keys) or not all(map(_is, keys, self.keys)):
            return False
        return all(_safely(digest, thing) == was for thing, digest, was, _ in self.special)

    def changes(self):
        """Sets of labels of what changed since the last look; what counts as changed is among them."""
        closed = [frozenset(path) for path in self.closed]
        if self.is_same():
            return closed
        before, special = self.slots, {(id(s[0]), s[1]): s for s in self.special}
        self.look()
        changed = list(closed)
        for number, (thing, labels, now) in self.slots.items():
            was = before.get(number)
            if was is not None and was[0] is thing:
                changed.extend(_differences(thing, labels, was[2], now))
        for thing, how, digest, labels in self.special:
            was = special.get((id(thing), how))
            if was is not None and was[2] != digest:
                changed.append(frozenset(labels))
        return changed


_RESUMED = (types.GeneratorType, types.CoroutineType)


def _keys(dicts):
    return itertools.chain.from_iterable(map(dict.__iter__, dicts))


def _members(kind):
    """The slots of a class, by name."""
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if type(member) is types.MemberDescriptorType:
                yield name, member


def _subclasses(kind):
    return list(map(id, type.__subclasses__(kind)))


class _Registered:
    """The classes that count as subclasses of an abstract one; asked for again only if any was registered since."""

    def __init__(self):
        self.token, self.known, self.asks = None, {}, types.SimpleNamespace()

    def __call__(self, data):
        token = _token()
        if token != self.token:
            self.token, self.known = token, {}
        found = self.known.get(id(data))
        if found is None:
            self.asks._abc_impl = data
            # With the object itself, whose address could be another one's later.
            found = self.known[id(data)] = (sorted(map(id, _dump(self.asks)[0])), data)
        return found[0]


_registered = _Registered()


def _safely(digest, thing):
    try:
        return digest(thing)
    except Exception:
        return object()


def _differences(thing, labels, before, now):
    if not issubclass(type(thing), dict):
        if len(before) != len(now) or not all(map(_is, before, now)):
            yield frozenset(labels)
        return
    for key in before.keys() | now.keys():
        old, new = before.get(key, before), now.get(key, before)
        if old is new or issubclass(type(new), types.ModuleType) or (isinstance(key, str) and key in _NOT_STATE):
            continue
        yield frozenset((*labels, key)) if type(key) is str else frozenset(labels)


class NativeRoot:
    """The same in the native part."""

    def __init__(self, native, names):
        self.native = native
        self.number = native.root(names)

    def changes(self):
        # Without a number it was asked for in the middle of a look.
        return [frozenset()] if self.number is None else self.native.changes(self.number)

    def __del__(self):
        if self.number is not None:
            self.native.forget(self.number)


class State:
    """All roots, and which window changed what."""

    def __init__(self, is_project, native=None):
        self.is_project = is_project
        self.kinds = Kinds()
        self.roots = {}
        #: The roots that are modules; which of them were left out of a look, since which moment, and the moment of now.
        self.modules, self.late, self.moment = set(), {}, 0
        self.namespaces = {}
        self.noted = 0
        self.homes = {}
        self.native = native
        if native is not None:
            native.state(self.describe, self.home_of, frozenset(_NOT_STATE))

    def note_modules(self):
        if len(sys.modules) == self.noted:
            return
        self.noted = len(sys.modules)
        spaces = [vars(module) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)]
        # They are kept: the address of one that ended could be another dictionary's.
        self.namespaces.update((id(space), space) for space in spaces)
        if self.native is not None:
            self.native.namespaces(spaces)

    def root(self, names):
        return Root(self, lambda: names) if self.native is None else NativeRoot(self.native, names)

    def add_module(self, name):
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            self.note_modules()
            self.roots[name] = self.root(vars(module))
            self.modules.add(name)
            self.late.pop(name, None)

    def add(self, name, value):
        self.roots[name] = self.root({"": value})

    def changes(self, besides=(), among=None):
        """What changed in each root since the last look. Of the modules only some are compared, where these are given."""
        self.note_modules()
        compared, modules, late = [], self.modules, self.late
        for name, root in list(self.roots.items()):
            if name in besides:
                continue
            if among is not None and name not in among and name in modules:
                late.setdefault(name, self.moment)
            else:
                compared.append((name, root))
        if late:
            for name, _ in compared:
                late.pop(name, None)
        if self.native is None:
            found = [(name, root.changes()) for name, root in compared]
            return {name: changed for name, changed in found if changed}
        # A root without a number was asked for in the middle of a look.
        found = self.native.changes_of([root.number for _, root in compared])
        return {compared[at][0]: changed for at, changed in found}

    def late_changes(self, names):
        """What changed in some roots that were left out, and since which moment."""
        found = {}
        for name in list(self.late.keys() & names):
            moment = self.late.pop(name)
            changed = self.roots[name].changes() if name in self.roots else ()
            if changed:
                found[name] = changed, moment
        return found

    def describe(self, kind):
        """What the native part has to know of a type: what to do, whether to go on, the way, the digest, slots, what decides it."""
        what = self.kinds.of(kind)
        digest = self.kinds.digests.get(kind) if what == 2 else None
        way, slots = self._way(kind), ()
        if way in (5, 6):
            slots = tuple(part for name, member in _members(kind) for part in (name, member.__get__))
        decided_by = _in_memory if digest is _of_file and _is_text(kind) else None
        return what, int(what == 1 or kind in _RESUMED), way, digest, slots, decided_by

    @staticmethod
    def _way(kind):
        """As `children` does it, by numbers."""
        if issubclass(kind, dict):
            return 0 if kind is dict else 6
        for way, base in ((2, weakref.ref), (3, threading.local), (4, type)):
            if issubclass(kind, base):
                return way
        if kind is types.FunctionType:
            return 1
        return 5 if kind.__flags__ & _HEAP else 7

    # What an object refers to, with the name by which code reaches it.

    def children(self, thing):
        kind = type(thing)
        if issubclass(kind, dict):
            named = [(key if type(key) is str else None, value) for key, value in dict.items(thing)]
            named.extend((None, key) for key in dict.keys(thing))
            return named + (self._of_instance(thing) if kind is not dict else [])
        if kind is types.FunctionType:
            return self._of_function(thing)
        if issubclass(kind, weakref.ref):
            return [(None, target) for target in (thing(),) if target is not None]
        if issubclass(kind, threading.local):
            return [(None, thing.__dict__)]
        if issubclass(kind, type):
            return [(None, child) for child in _referents(thing) if type(child) is dict]
        if kind.__flags__ & _HEAP:
            return self._of_instance(thing)
        return [(None, child) for child in _referents(thing)]

    @staticmethod
    def _of_function(thing):
        named = zip(thing.__code__.co_freevars, thing.__closure__ or ())
        rest = [thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        return [*named, *((None, child) for child in rest if child is not None)]

    @staticmethod
    def _of_instance(thing):
        """Attributes by their names, and whatever else an object of a class holds."""
        found = []
        try:
            space = object.__getattribute__(thing, "__dict__")
        except Exception:
            space = None
        if type(space) is dict:
            found.append((None, space))
        for name, member in _members(type(thing)):
            try:
                found.append((name, member.__get__(thing)))
            except Exception:
                continue
        found.extend((None, child) for child in _referents(thing))
        return found

    def is_elsewhere(self, kind, namespace):
        """Whether a class belongs to another module, whose state it is."""
        known = self.homes.get(id(kind))
        if known is None:
            known = self.homes[id(kind)] = (kind, self.home_of(kind))
        return known[1] != 0 and known[1] != id(namespace)

    @staticmethod
    def home_of(kind):
        """The address of the names of the module where a class is found by its name; 0 where it is not."""
        home = found = sys.modules.get(kind.__module__) if isinstance(kind.__module__, str) else None
        for part in kind.__qualname__.split("."):
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        return id(vars(home)) if found is kind else 0
