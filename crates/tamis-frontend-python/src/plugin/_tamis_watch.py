"""Windows: what ran, what was imported and what was read, and for whom it counts. PYTEST_DONT_REWRITE

At each moment one window is open. It belongs to an owner: a test, a fixture of a wider scope, the import of a
module, the collection of a file, or everybody. What an owner did inside of another one (a module that a test
imports) has an owner of its own, which the outer one refers to.
"""

import os
import sys
import threading

_realpath = os.path.realpath


def _is_installed(path):
    """Libraries inside of the project's folder; tamis has the same rule (model.rs)."""
    return any(part.endswith("-packages") or part.startswith("python3") for part in path.split("/"))


def guarded(method):
    """A mistake of ours must not be one of the test run: it goes on without us, and the reason goes to tamis."""

    def call(self, *arguments, **named):
        watch = getattr(self, "watch", self)
        if watch.is_broken:
            return None
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            watch.fail(error)
            return None

    return call


class Owner:
    """Whose windows these are; `inner` are owners whose windows opened inside of it."""

    def __init__(self, kind):
        self.kind = kind
        # Sets of numbers as the bits of one integer: most tests have many of them in common.
        self.windows = 0
        self.bodies = 0
        self.inner = []
        self.modules = set()
        self.ran = False
        self.read = set()
        self.lists = {}
        self.forked = False


class Naming:
    """The bodies that have one of some names, as bits (`gate`)."""

    def __init__(self, labels, watch):
        self.labels, self.gate = labels, 0
        self.gate = watch.gate_of(self)


class Watch:
    def __init__(self, link, root, native=None):
        self.link = link
        self.native = native
        self.root = root + os.sep
        self.files = {}
        self.codes = {}
        self.known = []
        self.sent = 0
        #: Which bodies have a name, as bits.
        self.mentioned = {}
        #: Who has to know of bodies that have a name.
        self.gates, self.always_asked = {}, {}
        self.bodies = set()
        self.everybody = Owner("everybody")
        self.stack = [self.everybody]
        self.number = 0
        self.is_left = False
        self.is_broken = False
        self.by_function = False
        self.profile = None
        self.monitoring, self.tools = None, []
        #: Coverage that is measured besides (_tamis_coverage).
        self.cover = None

    # Files of the project.

    def file(self, name):
        """A file of the project as tamis knows it, relative to the root; None for all others."""
        known = self.files.get(name, 0)
        if known == 0:
            known = self.files[name] = self._file(name)
        return known

    def _file(self, name):
        if not isinstance(name, str) or not os.path.isabs(name):
            return None
        path = _realpath(name)
        if not path.startswith(self.root) or _is_installed(path[len(self.root) :]):
            return None
        return path[len(self.root) :]

    def is_folder(self, path):
        """Whether modules in this folder are the project's."""
        return self.file(os.path.join(path, "x")) is not None

    def folder(self, path):
        """A folder of the project, relative to the root; None for all others."""
        if not isinstance(path, (str, type(None))):
            return None
        inside = self.file(os.path.join(os.path.abspath(path or "."), "x"))
        return None if inside is None else os.path.dirname(inside) or "."

    # Windows.

    def for_everybody(self, owner):
        """What an owner did counts for every later test."""
        self.everybody.inner.append(owner)

    @property
    def owner(self):
        return self.stack[-1]

    def fail(self, error):
        """From here on nothing is known."""
        self.is_broken = self.is_left = True
        try:
            self.link.trouble("the plugin failed: %s: %s" % (type(error).__name__, error))
        except Exception:
            self.link.stream = None

    def leave(self):
        """No windows any more: nothing is tested in this process."""
        self.end()
        self.is_left = True

    @guarded
    def begin(self):
        if self.is_left:
            return
        self._open(self.link.begins)

    def _open(self, kind):
        self.number += 1
        self.owner.windows |= 1 << self.number
        self.link.mark(kind, self.number)
        self.restart()
        if self.cover is not None:
            self.cover.restart()

    @guarded
    def end(self):
        if self.is_left:
            return
        self.link.mark(self.link.ends, self.number)
        self._close()

    def _turn(self):
        """The next window begins where this one ended, for whoever is the owner now: one mark is enough."""
        if not self.is_left:
            self._open(self.link.turns)

    def _close(self):
        if self.is_left:
            return
        bodies = self.take()
        owner = self.owner
        message = {"window": self.number, "bodies": "%x" % bodies}
        if bodies:
            owner.ran = True
            owner.bodies |= bodies
        if self.sent < len(self.known):
            message["new"] = self.known[self.sent :]
            self.sent = len(self.known)
        if owner.read:
            message["read"] = sorted(owner.read)
            owner.read = set()
        if owner.lists:
            message["lists"] = sorted(folder for folder, others in owner.lists.items() if not others)
            owner.lists = {}
        covered = self.cover and self.cover.take()
        if covered:
            message["covered"] = covered
        if bodies or len(message) > 2:
            self.link.send_later(message)

    @guarded
    def push(self, owner):
        outer = self.owner
        self._close()
        if outer.kind not in ("everybody", "between"):
            outer.inner.append(owner)
        self.stack.append(owner)
        self._turn()

    @guarded
    def pop(self):
        self._close()
        if len(self.stack) > 1:
            self.stack.pop()
        self._turn()

    @guarded
    def between(self):
        """A time between tests begins: it counts for later ones where code of the project runs in it.

        It takes the place of the test that ended, if one did.
        """
        self._close()
        if len(self.stack) > 1:
            self.stack.pop()
        if self.owner.kind == "between" and self.owner.ran:
            self.for_everybody(self.owner)
        self.stack[-1] = Owner("between")
        self._turn()

    def rest(self):
        """What we do ourselves is not watched."""
        if self.profile is not None and sys.getprofile() is self.profile:
            sys.setprofile(None)

    def resume(self):
        """Also where a test has taken our place and not left it as it was."""
        if self.profile is not None and sys.getprofile() is None:
            sys.setprofile(self.profile)

    # What ran.

    def take(self):
        """The numbers of the bodies that ran in the window that ends, as bits."""
        bodies, self.bodies = self.bodies, set()
        return bits(bodies)

    def _take_native(self):
        return int.from_bytes(self.native.border(), "little")

    def start(self):
        self.begin()
        monitoring = getattr(sys, "monitoring", None)
        if self.native is not None and self._start_native(monitoring):
            self.take = self._take_native
            self.by_function = True
        elif monitoring is not None:
            self._start_monitoring(monitoring)
        else:
            self._start_profile()

    def _start_native(self, monitoring):
        """Two tools where there is sys.monitoring, frames before: the native part says how."""
        native = self.native
        if monitoring is None:
            return sys.getprofile() is None and bool(native.watch(self.know))
        tools = [tool for tool in (4, 3, 0, 2) if monitoring.get_tool(tool) is None][:2]
        if len(tools) < 2:
            return False
        for tool in tools:
            monitoring.use_tool_id(tool, "tamis")
        events, (first, local) = monitoring.events, tools
        native.watch(self.know, monitoring.set_local_events, local, monitoring.DISABLE)
        for event in (events.PY_START, events.PY_RESUME, events.PY_THROW):
            monitoring.register_callback(first, event, native.first)
            monitoring.register_callback(local, event, native.again)
        monitoring.set_events(first, events.PY_START | events.PY_RESUME | events.PY_THROW)
        self.monitoring, self.tools = monitoring, tools
        return True

    def _start_monitoring(self, monitoring):
        events = monitoring.events
        for tool in (4, 3, 0, 2):
            if monitoring.get_tool(tool) is None:
                break
        else:
            return
        monitoring.use_tool_id(tool, "tamis")
        disable, codes, know = monitoring.DISABLE, self.codes, self.know

        def started(code, offset):
            known = codes.get(id(code))
            number = know(code) if known is None else known[0]
            if number is not None:
                self.bodies.add(number)
            return disable

        def thrown(code, offset, error):
            started(code, offset)

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.PY_RESUME, started)
        monitoring.register_callback(tool, events.PY_THROW, thrown)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW)
        self.restart = monitoring.restart_events
        self.monitoring, self.tools = monitoring, [tool]
        self.by_function = True

    def _start_profile(self):
        """Before sys.monitoring: where another profiler is at work, everything counts by file."""
        if sys.getprofile() is not None:
            return
        codes, know = self.codes, self.know

        def profile(frame, event, argument):
            if event == "call":
                code = frame.f_code
                known = codes.get(id(code))
                number = know(code) if known is None else known[0]
                if number is not None:
                    self.bodies.add(number)

        self.profile = profile
        self.by_function = True
        threading.setprofile(profile)
        sys.setprofile(profile)

    def restart(self):
        pass

    def is_watching(self):
        """Whether our place was not taken."""
        if self.profile is not None:
            return sys.getprofile() is self.profile
        if not self.by_function:
            return True
        if self.tools and any(self.monitoring.get_tool(tool) != "tamis" for tool in self.tools):
            return False
        return self.native is None or bool(self.native.is_watching())

    def stop(self):
        if self.profile is not None:
            if sys.getprofile() is self.profile:
                sys.setprofile(None)
            threading.setprofile(None)
        for tool in self.tools:
            self.monitoring.set_events(tool, 0)
            self.monitoring.free_tool_id(tool)
        if self.native is not None:
            self.native.stop()
            self.native.audit_no_more()

    def know(self, code):
        """The number of a body of the project, None for other code. All code is kept.

        By address, never by equality: code of two files can be equal.
        """
        known = self.codes.get(id(code))
        if known is not None:
            return known[0]
        file, number = self.file(code.co_filename), None
        if file is not None:
            number = len(self.known)
            self.known.append((file, getattr(code, "co_qualname", code.co_name)))
            for name in mentions(code):
                self.mentioned[name] = self.mentioned.get(name, 0) | 1 << number
                for waiting in self.gates.get(name, ()):
                    waiting.gate |= 1 << number
        self.codes[id(code)] = (number, code)
        return number

    def gate_of(self, waiting):
        """The bodies that have one of its labels, as bits; those that are found later are added to its `gate`."""
        for label in waiting.labels:
            self.gates.setdefault(label, []).append(waiting)
        return self.mention(waiting.labels) if waiting.labels else -1

    def naming(self, labels):
        """As `mention`, for the same names again and again."""
        known = self.always_asked.get(labels)
        if known is None:
            known = self.always_asked[labels] = Naming(labels, self)
        return known.gate

    def mention(self, labels):
        """The bodies that have one of these names, as bits."""
        found = 0
        for label in labels:
            found |= self.mentioned.get(label, 0)
        return found

    def out_of_sight(self, owner):
        """What code of this owner may have set that cannot be looked at, by the names of functions that set it.

        For all later tests: their names; for those that have one of some names: these.
        """
        for_all, by_name, ran = [], [], _all_bodies(owner)
        if not self.naming(_SETTERS) & ran:
            return for_all, by_name
        for name, others, asked_by in _OUT_OF_SIGHT:
            some = self.mentioned.get(name, 0)
            for other in others:
                some &= self.mentioned.get(other, 0)
            if some & ran:
                (by_name if asked_by else for_all).append(asked_by or "by " + name)
        return for_all, by_name


#: By these names code comes to what native code keeps.
_NATIVE = frozenset(("CDLL", "PyDLL", "LoadLibrary", "dlopen", "in_dll"))
#: What they set, in the interpreter or in the system, shows at no name. With names that the same body has to have, and
#: the names by which others come to it, where not everybody does.
_OUT_OF_SIGHT = (
    *((name, (), _NATIVE) for name in sorted(_NATIVE)),
    ("enable_callback_tracebacks", (), frozenset(("sqlite3",))),
    *((name, (), frozenset(("sqlite3",))) for name in ("register_adapter", "register_converter")),
    ("register", ("codecs",), None), ("unregister", ("codecs",), None),
    *((name, (), None) for name in (
        "register_error", "siginterrupt", "set_wakeup_fd", "pythonapi", "sched_setaffinity", "setuid", "setgid", "seteuid",
        "setegid", "setgroups", "setresuid", "setresgid", "setreuid", "setregid", "setpgid", "setsid", "chroot", "unshare",
        "setns", "sethostname", "dup2", "closerange",
    )),
)  # fmt: skip

_SETTERS = frozenset(name for name, _, _ in _OUT_OF_SIGHT)


def _all_bodies(owner):
    """All that ran for an owner and inside of it, as bits."""
    found, seen, todo = 0, set(), [owner]
    while todo:
        one = todo.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found |= one.bodies
            todo.extend(one.inner)
    return found


def bits(numbers):
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def mentions(code):
    """Every name that a body has; a function inside of it has its own when it runs."""
    names = {*code.co_names, *code.co_freevars, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, str):
            names.add(constant)
        elif isinstance(constant, (tuple, frozenset)):
            names.update(part for part in constant if isinstance(part, str))
    return names
