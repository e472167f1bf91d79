"""Comes in by PYTHONPATH, where the interpreter takes it, and does nothing until pytest is imported.

An interpreter that was started with -E, -I or -S never sees this file: pytest then runs as if tamis was not
there, and tamis sees that nothing connected. One whose functions cannot be distinguished (older than 3.11, not CPython) is not
watched: tamis gets the reason. This file is read by every Python below the command, of any age.
"""

import os
import sys


def _begin():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.path_importer_cache.pop(here, None)
    session = os.environ.get("TAMIS_PYTEST")
    if session and sys.version_info >= (3, 6):
        sys.meta_path.insert(0, _WhenPytestComes(here, session))


def _kept_out():
    """Why this interpreter is not watched; None where it is."""
    if sys.implementation.name != "cpython":
        return "%s is not CPython" % sys.implementation.name
    if sys.version_info < (3, 11):
        return "Python %d.%d is older than 3.11" % sys.version_info[:2]
    return None


class _WhenPytestComes:
    """Waits for the module that has the list of pytest's own plugins."""

    def __init__(self, here, session):
        self.here, self.session = here, session

    def find_spec(self, name, path=None, target=None):
        if name != "_pytest.config":
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Around(spec.loader, self)
        return spec

    def connect(self, module):
        sys.path.insert(0, self.here)
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            why = _kept_out()
            if why is not None:
                import _tamis_link

                return _tamis_link.say_why(self.here, self.session, why)
            import _tamis_pytest

            if _tamis_pytest.connect(self.here, self.session):
                module.default_plugins = tuple(module.default_plugins) + ("_tamis_pytest",)
        except Exception:  # The run goes on without us, and tamis says so.
            sys.modules.pop("_tamis_pytest", None)
        finally:
            sys.dont_write_bytecode = writes
            sys.path.remove(self.here)
            sys.path_importer_cache.pop(self.here, None)


class _Around:
    """The module's own loader, and the plugin after it."""

    def __init__(self, loader, waiting):
        self.loader, self.waiting = loader, waiting

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.waiting.connect(module)


def _next_sitecustomize():
    """The one that would have been loaded if this file was not there."""
    own = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        # Python 2 gives no name.
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


_begin()
if __name__ == "sitecustomize":
    _next_sitecustomize()
