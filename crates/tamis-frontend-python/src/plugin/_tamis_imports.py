"""Imports: who imports what, also where it was there already, and a window for each module. PYTEST_DONT_REWRITE

The functions here look like frames of the import system, which warnings and tracebacks leave out.
"""

import builtins
import importlib
import importlib.machinery
import os
import sys
import threading

from _tamis_watch import Owner, guarded

_get_ident, _frame, _modules = threading.get_ident, sys._getframe, sys.modules


class Everything:
    """Stands for the list of a folder: each name is looked at by itself, so that the tracer sees which."""

    def __contains__(self, name):
        return True


class Imports:
    def __init__(self, watch):
        self.watch = watch
        self.main = _get_ident()
        self.edges = {}
        self.owners = {}
        self.files = {}
        self.closures, self.depth = {}, 0
        #: Another number after each change of what is known about imports.
        self.generation = 0
        self.named_at, self.named = None, {}
        self.on_imported = self.on_library = None
        #: While pytest collects: what test files do (_tamis_collect).
        self.watcher = None
        #: How many imports of libraries are under way, one inside of the other.
        self.libraries = 0

    def changed(self):
        self.generation += 1
        self.closures.clear()

    def install(self):
        self._names_instead_of_lists()
        self._import_statement()
        bootstrap = sys.modules["importlib._bootstrap"]
        bootstrap._load_unlocked = _as_importlib(self._around_load(bootstrap._load_unlocked))
        self.around_loader(importlib.machinery.SourceFileLoader)
        sys.meta_path.insert(0, self)

    # Which names, in which folder.

    def _names_instead_of_lists(self):
        finder, watch = importlib.machinery.FileFinder, self.watch
        fill = finder._fill_cache

        def _fill_cache(self):
            if watch.is_folder(self.path or os.getcwd()):
                self._path_cache = self._relaxed_path_cache = Everything()
            else:
                fill(self)

        finder._fill_cache = _fill_cache
        for known in sys.path_importer_cache.values():
            if isinstance(known, finder) and watch.is_folder(known.path or os.getcwd()):
                known._path_mtime = -1

    # Who imports.

    def _import_statement(self):
        original, imported = builtins.__import__, self.imported

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            __tracebackhide__ = True
            module = original(name, globals, locals, fromlist, level)
            imported(name, globals, fromlist, level)
            return module

        by_name = importlib.import_module

        def import_module(name, package=None):
            __tracebackhide__ = True
            module = by_name(name, package)
            caller = _frame(1).f_globals
            found = getattr(module, "__name__", name)
            imported(name if name in _modules else found, caller, (), 0)
            return module

        builtins.__import__ = _as_importlib(__import__)
        importlib.import_module = _as_importlib(import_module)

    def imported(self, name, globals, fromlist, level):
        """Links the importing module, or who is at work, with the modules of the project that it names."""
        try:
            if self.watcher is not None:
                self.watcher.statement(name, globals, fromlist, level)
            importer = globals.get("__name__") if globals else None
            if level:
                package = globals.get("__package__") or importer or ""
                base = package.rsplit(".", level - 1)[0] if level > 1 else package
                name = base + "." + name if name else base
            found = self._known(name, fromlist)
            if not found:
                return
            spec = globals.get("__spec__") if globals else None
            if importer is not None and getattr(spec, "_initializing", False):
                self.edges.setdefault(importer, set()).update(found)
                self.changed()
            else:
                self.watch.owner.modules.update(found)
        except Exception as error:
            self.watch.link.trouble("an import was not understood: %r" % (error,))

    def _known(self, name, fromlist):
        """As `_named`, which is asked again where a module came, or another one took a name."""
        modules = sys.modules
        state = (len(modules), len(self.owners), len(self.files))
        if state != self.named_at:
            self.named_at, self.named = state, {}
        if not fromlist:
            fromlist = ()
        elif type(fromlist) is not tuple:
            return self._named(name, fromlist)
        module = modules.get(name)
        known = self.named.get((name, fromlist))
        if known is None or known[1] is not module:
            known = self.named[name, fromlist] = (self._named(name, fromlist), module)
        return known[0]

    def _named(self, name, fromlist):
        found, parts = set(), name.split(".")
        for end in range(1, len(parts) + 1):
            self._add(found, ".".join(parts[:end]))
        for item in fromlist or ():
            if item == "*":
                prefix = name + "."
                found.update(m for m in self.owners if m.startswith(prefix))
            elif isinstance(item, str):
                self._add(found, name + "." + item)
        return found

    def _add(self, found, name):
        if name in self.owners or name in self.files or self._is_project(sys.modules.get(name)):
            found.add(name)

    def _is_project(self, module):
        file = self.watch.file(getattr(module, "__file__", None)) if module is not None else None
        if file is not None:
            self.files.setdefault(module.__name__, file)
        return file is not None

    # Where it is, and what it does when it begins.

    def find_spec(self, name, path=None, target=None):
        watch = self.watch
        if watch.is_broken or watch.owner is watch.everybody or _get_ident() != self.main:
            return None
        finders = sys.meta_path[sys.meta_path.index(self) + 1 :] if self in sys.meta_path else []
        if not all(hasattr(finder, "find_spec") for finder in finders):
            return None
        owner = Owner("find")
        watch.push(owner)
        spec = None
        try:
            for finder in finders:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        finally:
            watch.pop()
        if spec is not None:
            places = [spec.origin, *(spec.submodule_search_locations or ())]
            if any(watch.file(place) for place in places):
                self.owners.setdefault(name, []).append(owner)
                self.changed()
            else:
                watch.for_everybody(owner)
        return spec

    def invalidate_caches(self):
        pass

    def _around_load(self, original):
        window = self.window

        def _load_unlocked(spec):
            opened = window(spec) or _NoWindow
            try:
                return original(spec)
            finally:
                opened.close()

        return _load_unlocked

    def around_loader(self, loader):
        """Modules that are not loaded by the import statement."""
        original, window = loader.exec_module, self.window

        def exec_module(self, module):
            __tracebackhide__ = True
            opened = window(getattr(module, "__spec__", None)) or _NoWindow
            try:
                return original(self, module)
            finally:
                opened.close()

        loader.exec_module = _as_importlib(exec_module)

    @guarded
    def window(self, spec):
        watch = self.watch
        name, origin = getattr(spec, "name", None), getattr(spec, "origin", None)
        file = watch.file(origin)
        if file is None:
            if watch.owner is watch.everybody or _get_ident() != self.main or name is None:
                return _NoWindow
            return _Foreign(self)
        self.files[name] = file
        if _get_ident() != self.main:
            return _Threaded(self, name, file)
        if watch.owner.kind == "import" and watch.owner.name == name:
            return _NoWindow
        return _Module(self, name, file)

    # What a module needs.

    def closure(self, names):
        """All modules of the project that these import, the owners of their windows, and the addresses of these."""
        key = frozenset(names)
        known = self.closures.get(key)
        if known is None:
            # Where an import is under way, more may come.
            known = self._closure(names)
            if self.depth == 0:
                self.closures[key] = known
        return known

    def _closure(self, names):
        seen, todo, owners = set(), list(names), []
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo.extend(self.edges.get(name, ()))
            if "." in name:
                todo.append(name.rpartition(".")[0])
            for owner in self.owners.get(name, ()):
                owners.append(owner)
                todo.extend(owner.modules)
        return seen, owners, frozenset(map(id, owners))


class _NoWindow:
    @staticmethod
    def close():
        pass


class _Foreign:
    """A module that is not of the project: what is read for it counts for every later test."""

    def __init__(self, imports):
        self.imports, self.watch = imports, imports.watch
        self.owner = Owner("foreign")
        self.watcher = imports.watcher if imports.watcher is not None and imports.watcher.begins(None) else None
        imports.libraries += 1
        self.watch.push(self.owner)

    def close(self):
        self.watch.pop()
        self.watch.for_everybody(self.owner)
        self.imports.libraries -= 1
        if self.imports.libraries == 0 and self.imports.on_library is not None:
            self.imports.on_library()
        if self.watcher is not None:
            self.watcher.ends(None)


class _Module:
    def __init__(self, imports, name, file):
        self.imports, self.name = imports, name
        self.watcher = imports.watcher if imports.watcher is not None and imports.watcher.begins(file) else None
        owner = Owner("import")
        owner.name, owner.file = name, file
        imports.owners.setdefault(name, []).append(owner)
        imports.changed()
        imports.depth += 1
        imports.watch.push(owner)
        self.owner = owner

    def close(self):
        self.imports.watch.pop()
        self.imports.depth -= 1
        self.imports.changed()
        if self.imports.on_imported is not None:
            self.imports.on_imported(self.name, self.owner)
        if self.watcher is not None:
            self.watcher.ends(self.name)


class _Threaded:
    """Another thread imports: what it does cannot be separated from what the main one does."""

    def __init__(self, imports, name, file):
        owner = Owner("import")
        owner.name, owner.file = name, file
        self.imports, self.owner = imports, owner
        imports.owners.setdefault(name, []).append(owner)
        imports.changed()
        imports.depth += 1
        owner.inner.append(imports.watch.owner)
        if imports.watcher is not None:
            imports.watcher.in_thread()

    def close(self):
        self.owner.inner.append(self.imports.watch.owner)
        self.imports.depth -= 1
        self.imports.changed()


def _as_importlib(function):
    try:
        function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    except (AttributeError, ValueError):
        pass
    return function
