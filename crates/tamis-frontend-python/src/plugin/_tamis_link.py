"""The socket to tamis, and the marks that the tracer sees. PYTEST_DONT_REWRITE"""

import json
import os
import socket
import struct
import time

# Tests put other functions in the place of those of the library: what is used here is taken before.
_stat = os.stat
_getpid = os.getpid
_now = time.monotonic
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_pack, _unpack = struct.Struct("<I").pack, struct.Struct("<I").unpack


#: Seconds in which messages may wait for others: a process that is killed loses these.
_TOGETHER = 0.2

_FOR_TOX = "testenv.pass_env+=PYTHONPATH,TAMIS_PYTEST"


def _look(path):
    try:
        _stat(path)
    except OSError:
        pass


def _varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def say_why(here, session, why):
    """Tells tamis why this process is not watched; it is none that the tracer knows."""
    leave_environment(here)
    Link(session, {"kept_out": why}, is_host=False).bye()


def leave_environment(here):
    """Tests and their children see the environment that the user made."""
    os.environ.pop("TAMIS_PYTEST", None)
    if os.environ.get("TOX_OVERRIDE") == _FOR_TOX:
        del os.environ["TOX_OVERRIDE"]
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here in entries:
        entries.remove(here)
    if any(entries):
        os.environ["PYTHONPATH"] = os.pathsep.join(entries)
    else:
        os.environ.pop("PYTHONPATH", None)


class Link:
    """Sends what happened, and takes the answer to the one question."""

    def __init__(self, session, hello, is_host=True):
        library, path, token, self.root = session.split("\n")
        self.pid = _getpid()
        borders = "/.tamis-mark/%s/%d/" % (token, self.pid)
        self.begins, self.ends, self.turns = (borders + kind + "/%d" for kind in "ben")
        self.look = _look
        if is_host:
            with open(library, "rb"):
                pass  # The tracer now knows this process.
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(60)
        self.stream.connect(path)
        self.waiting, self.sent = bytearray(), 0.0
        self._frame(b"\x00" + _varint(self.pid) + self._bytes(hello))

    def _bytes(self, message):
        text = _encode(message).encode("utf-8", "surrogateescape")
        return _varint(len(text)) + text

    def _frame(self, body):
        if self.stream is None or _getpid() != self.pid:
            return
        self.waiting += _pack(len(body)) + body
        self._send_waiting()

    def _send_waiting(self):
        if self.stream is None or _getpid() != self.pid:
            return
        try:
            self.stream.sendall(self.waiting)
        except OSError:
            self.stream = None
        self.waiting, self.sent = bytearray(), _now()

    def send(self, message):
        self._frame(b"\x04" + self._bytes(message))

    def send_later(self, message):
        """With the next one: what belongs to a test is of no use before its end is known."""
        body = b"\x04" + self._bytes(message)
        if len(self.waiting) + len(body) > 60_000:
            self._frame(body)
        elif _getpid() == self.pid:
            self.waiting += _pack(len(body)) + body

    def send_soon(self, message):
        """With those of the next moment: to send and to take each by itself costs more than a short test."""
        self.send_later(message)
        if self.waiting and not 0 <= _now() - self.sent < _TOGETHER:
            self._send_waiting()

    def trouble(self, why):
        text = why.encode("utf-8", "replace")
        self._frame(b"\x03" + _varint(len(text)) + text)

    def bye(self):
        self._frame(b"\x05")

    def ask(self, message):
        """The answer; None where tamis is gone."""
        self.send(message)
        if self.stream is None:
            return None
        try:
            self.stream.settimeout(600)
            length = _unpack(self._read(4))[0]
            return _decode(self._read(length).decode())
        except (OSError, ValueError, struct.error):
            return None

    def _read(self, length):
        parts = []
        while length:
            part = self.stream.recv(length)
            if not part:
                raise OSError("tamis is gone")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def mark(self, kind, number):
        """A look at a path that does not exist: the border of a window, or of two (`turns`)."""
        if _getpid() != self.pid:
            return
        self.look(kind % number)
