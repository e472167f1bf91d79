"""Tries the native part of the plugin in this interpreter: tried.py FOLDER. Prints what is wrong, or "as in Python"."""

import abc, collections, functools, io, itertools, os, random, sys, tempfile, threading, types, weakref  # noqa: E401

here = sys.argv[1]
sys.path.insert(0, here)
sys.dont_write_bytecode = True
from _tamis_agent import load  # noqa: E402
from _tamis_process import _chance  # noqa: E402
from _tamis_state import State  # noqa: E402
from _tamis_watch import Watch  # noqa: E402

native = load(here)
if native is None:
    print("no native part for this interpreter")
    sys.exit()
wrong = []


# What stays: the native looks find the same changes as those in Python.


class Slots:
    __slots__ = ("a", "b")


class Plain:
    kept = []

    def method(self, default=[]):
        return default

    def another(self, default=[]):
        return self


class Mapping(dict):
    pass


class Dear(Plain):
    @functools.cached_property
    def value(self):
        return 1


def closure():
    cell, items = 0, []

    def inner():
        nonlocal cell
        cell += 1
        items.append(cell)

    return inner


@functools.lru_cache
def cached(x):
    return [x]


def positions():
    while True:
        yield 1


class Key:
    pass


class Named(io.TextIOWrapper):
    name = "named"


class Kept(io.BytesIO):
    pass


class Asks(io.TextIOWrapper):
    """One that has an answer of its own."""

    is_closed = False

    @property
    def closed(self):
        return self.is_closed


class Numbered(io.BytesIO):
    """One in memory that says it is a file."""

    def fileno(self):
        return self.number


def numbered():
    text = io.TextIOWrapper(Numbered())
    text.buffer.number, text.path = tempfile.mkstemp()
    os.unlink(text.path)
    return text


def world():
    key, local = Key(), threading.local()
    local.v = 1
    slots = Slots()
    slots.a = []
    names = {
        "__name__": "w", "number": 1, "text": "a", "items": [1, [2]], "pairs": {"k": {"deep": []}, 3: "x", (1, 2): []},
        "names": {1, 2}, "slots": slots, "plain": Plain(), "mapping": Mapping(a=1), "closure": closure(),
        "cached": cached, "made": positions(), "queue": collections.deque([1]), "ordered": collections.OrderedDict(a=1),
        "buffer": bytearray(3), "stream": io.StringIO(), "counter": itertools.count(), "random": random.Random(1),
        "space": types.SimpleNamespace(v=0), "key": key, "weak": weakref.WeakKeyDictionary({key: []}), "local": local,
        "partial": functools.partial(print, []), "Class": type("Class", (), {"attribute": 1, "__module__": "w"}),
        "function": types.FunctionType(Plain.method.__code__, {}, "f", ([],)), "dear": Dear(), "tuple": ([], {}),
        "iterator": iter([1, 2, 3]), "frozen": frozenset([1]), "method": Plain().method, "closed": memoryview(b"x"),
        "Abstract": abc.ABCMeta("Abstract", (), {"__module__": "w"}),
        "file": io.TextIOWrapper(io.BytesIO()), "named": Named(Kept()), "asks": Asks(io.BytesIO()), "numbered": numbered(),
    }  # fmt: skip
    names["plain"].inner = Plain()
    return names


def often_called(function):
    """The interpreter counts in a function that it makes faster; that is no change."""
    for _ in range(1000):
        function(1)


def add_class(w):
    w["made_below"] = type("Below", (w["Class"],), {"__module__": "w"})


EDITS = [
    lambda w: None,
    lambda w: (often_called(w["function"]), w.update(number=2)),
    lambda w: w.update(number=2),
    lambda w: w.update(text="b", more=[]),
    lambda w: w.pop("text"),
    lambda w: w["items"].append(3),
    lambda w: w["items"][1].append(3),
    lambda w: w["pairs"]["k"]["deep"].append(1),
    lambda w: w["pairs"].update(new=1),
    lambda w: w["pairs"][(1, 2)].append(1),
    lambda w: w["names"].add(3),
    lambda w: setattr(w["slots"], "b", 1),
    lambda w: w["slots"].a.append(1),
    lambda w: setattr(w["plain"], "x", 1),
    lambda w: setattr(w["plain"].inner, "y", 1),
    lambda w: w["mapping"].update(b=[]),
    lambda w: setattr(w["mapping"], "attribute", 1),
    lambda w: w["closure"](),
    lambda w: w["cached"](random.random()),
    lambda w: next(w["made"]),
    lambda w: w["queue"].append(2),
    lambda w: w["ordered"].update(b=2),
    lambda w: w["buffer"].__setitem__(0, 5),
    lambda w: w["stream"].write("x"),
    lambda w: next(w["counter"]),
    lambda w: w["random"].random(),
    lambda w: setattr(w["space"], "v", 1),
    lambda w: w["weak"][w["key"]].append(1),
    lambda w: setattr(w["local"], "v", 2),
    lambda w: w["partial"].args[0].append(1),
    lambda w: setattr(w["Class"], "attribute", 2),
    lambda w: setattr(w["Class"], "another", []),
    add_class,
    lambda w: w["function"].__defaults__[0].append(1),
    lambda w: setattr(w["function"], "kept", 1),
    lambda w: setattr(w["function"], "__defaults__", ()),
    lambda w: setattr(w["function"], "__kwdefaults__", {"default": 1}),
    lambda w: setattr(w["function"], "__code__", Plain.another.__code__),
    lambda w: setattr(w["closure"].__closure__[0], "cell_contents", 7),
    lambda w: (often_called(w["function"]), setattr(w["function"], "__defaults__", ([],))),
    lambda w: w["dear"].value,
    lambda w: w["Abstract"].register(Key),
    lambda w: w["tuple"][0].append(1),
    lambda w: next(w["iterator"]),
    lambda w: setattr(w["method"].__self__, "v", 1),
    lambda w: w["file"].close(),
    lambda w: w["file"].buffer.close(),
    lambda w: w["file"].detach(),
    lambda w: (w["file"].write("x"), w["file"].flush(), w["file"].close()),
    lambda w: (setattr(w["file"], "mode", "w"), w["file"].close()),
    lambda w: w["named"].close(),
    lambda w: w["named"].buffer.close(),
    lambda w: setattr(w["asks"], "is_closed", True),
    lambda w: os.write(w["numbered"].buffer.number, b"x"),
    lambda w: w["numbered"].close(),
    lambda w: w.clear(),
]
#: What changes nothing: the content of a file in memory, as long as it is open.
IN_MEMORY = [
    lambda w: w["file"].write("x"),
    lambda w: (w["file"].write("x"), w["file"].flush()),
    lambda w: w["named"].buffer.write(b"x" * 10_000),
]


def all_changes(state, edit):
    names = world()
    state.roots = {}
    state.add("w", names)
    found = [state.changes(), edit(names), state.changes(), state.changes()]
    return [set(changed.get("w", ())) for changed in (found[0], found[2], found[3])]


slow, fast = State(lambda file: None), State(lambda file: None, native)
for number, edit in enumerate(EDITS):
    expected, got = all_changes(slow, edit), all_changes(fast, edit)
    if number and not expected[1] - expected[0]:
        wrong.append("edit %d changes nothing in Python" % number)
    if got[0] != expected[0] or got[2] != expected[2] or not expected[1] <= got[1]:
        wrong.append("edit %d: %r instead of %r" % (number, got, expected))

for number, edit in enumerate(IN_MEMORY):
    expected, got = all_changes(slow, edit), all_changes(fast, edit)
    if not expected[0] == expected[1] == got[1] == got[2]:
        wrong.append("in memory, edit %d: %r instead of %r" % (number, got, expected))

# One that is open stays known as that while others come, and until it is closed.
files, changed = [Named(Kept()) for _ in range(20)], []
names = {"files": list(files[:10])}
fast.roots = {}
fast.add("files", names)
for edit in (lambda: None, lambda: files[3].write("x"), lambda: names["files"].extend(files[10:]), lambda: files[15].write("x"), files[15].close, files[4].close, lambda: None, lambda: files[5].__init__(Kept()), files[5].close):
    edit()
    changed.append(bool(fast.changes()))
if changed != [False, False, True, False, True, True, False, False, True]:
    wrong.append("files in memory: %r" % changed)

# Many roots at once: as each by itself.
fast.roots, several = {}, [{"x": number} for number in range(5)]
for number, names in enumerate(several):
    fast.add(number, names)
several[1]["x"] = several[3]["y"] = []
if set(fast.changes()) != {1, 3} or fast.changes():
    wrong.append("not those of several roots that changed")

# Where the numbers of chance are: also where only what `gauss` keeps for its next call is another one.
chance = _chance(native)
random.seed(1)
seen = [chance()]
for step in (lambda: None, random.random, lambda: random.gauss(0, 1), lambda: random.gauss(0, 1), lambda: random.seed(1), lambda: random.setstate(was)):
    was = random.getstate()
    step()
    seen.append(chance())
if chance is random.getstate or [now != before for before, now in zip(seen, seen[1:])] != [False, *[True] * 4, False]:
    wrong.append("numbers of chance: %r" % [now == before for before, now in zip(seen, seen[1:])])

# Objects that nothing holds any more end.
gone = []
names = {"x": Plain()}
weakref.finalize(names["x"], gone.append, 1)
fast.add("ends", names)
names.clear()
fast.changes()
if not gone:
    wrong.append("an object that was dropped is still held")

# Names of modules: which dictionaries were changed.
spaces = [{"a": 1, "b": 2}, {"a": 1}, {}]
native.spaces(spaces)
for number, (edit, expected) in enumerate([
    (lambda: None, []),
    (lambda: spaces[0].update(a=2), [0]),
    (lambda: spaces[1].pop("a"), [1]),
    (lambda: (spaces[2].update(c=1), spaces[0].clear()), [0, 2]),
    (lambda: spaces[0].get("a"), []),
]):  # fmt: skip
    edit()
    found = native.changed_spaces()
    if found != expected or native.changed_spaces():
        wrong.append("names, edit %d: %r changed" % (number, found))


# Two dictionaries with the same in them.
shared = []
for one, other, expected in (({}, {}, 1), ({"a": shared}, {"a": shared}, 1), ({"a": shared}, {"a": []}, 0), ({"a": 1}, {}, 0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, 0)):
    if native.same_items(one, other) != expected:
        wrong.append("same items: %r and %r" % (one, other))


# What ran, in which window.


class Link:
    stream = None

    begins = ends = turns = "%d"

    def mark(self, kind, number):
        pass

    def send_later(self, message):
        pass

    def trouble(self, why):
        wrong.append(why)


source = """
def plain(): return 1
def gen():
    try:
        while True: yield 1
    except ValueError:
        pass
def often(): return 1
def deep(n): return deep(n - 1) if n else 0
class K:
    def method(self): return [x for x in map(lambda y: y, (1,))]
"""
project = here + "/project"
watch = Watch(Link(), project, native)
space = {"__name__": "m"}
watch.start()
exec(compile(source, project + "/m.py", "exec"), space)


def ran(work):
    watch.take()
    work()
    bodies = watch.take()
    return {name for number, (_, name) in enumerate(watch.known) if bodies >> number & 1} - {"<module>"}


def expect(what, found, *names):
    if found != set(names):
        wrong.append("%s: %r ran" % (what, found))


expect("a call", ran(space["plain"]), "plain")
expect("again", ran(space["plain"]), "plain")
expect("nothing", ran(lambda: None))
for _ in range(3):
    expect("often", ran(lambda: [space["often"]() for _ in range(1000)]), "often")
suspended = space["gen"]()
expect("begun", ran(lambda: next(suspended)), "gen")
expect("resumed", ran(lambda: next(suspended)), "gen")


def throw():
    try:
        suspended.throw(ValueError)
    except StopIteration:
        pass


expect("thrown into", ran(throw), "gen")
method = ran(space["K"]().method)
if "K.method" not in method or "K.method.<locals>.<lambda>" not in method:
    wrong.append("in a method: %r ran" % method)


def in_thread():
    thread = threading.Thread(target=space["plain"])
    thread.start()
    thread.join()


expect("a thread", ran(in_thread), "plain")
if not watch.is_watching():
    wrong.append("it does not watch")
expect("deep", ran(lambda: space["deep"](500)), "deep")
sys.setrecursionlimit(60_000)
space["deep"](20_000)
if sys.version_info < (3, 12) and watch.is_watching():
    wrong.append("frames are evaluated in C although they may be deep")
watch.stop()
print("\n".join(wrong) or "as in Python")
