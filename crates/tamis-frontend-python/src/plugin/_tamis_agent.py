"""Loads the native part, where this interpreter can have it. PYTEST_DONT_REWRITE

Without it everything is done in Python, with the same result.
"""

import sys


def _expected():
    """The interpreters whose objects it knows; a build without the global lock has others."""
    version = sys.version_info
    return sys.implementation.name == "cpython" and (3, 11) <= version < (3, 15) and "t" not in sys.abiflags


def load(here):
    if not _expected():
        return None
    try:
        import importlib.machinery
        import importlib.util

        path = here + "/_tamis_native.so"
        loader = importlib.machinery.ExtensionFileLoader("_tamis_native", path)
        spec = importlib.util.spec_from_file_location("_tamis_native", path, loader=loader)
        native = importlib.util.module_from_spec(spec)
        loader.exec_module(native)
        above = type("Above", (), {})
        below = type("Below", (above,), {})
        return native if native.fits(above, below) else None
    except Exception:  # Another machine or C library.
        return None
