"""What the cases of the matrix start: servers, clients, and small programs that ask one thing."""
import array, ctypes, mmap, os, select, socket, subprocess, sys, threading, time

LIBC = ctypes.CDLL(None, use_errno=True)


def address(kind, place):
    if kind == "unix":
        return socket.AF_UNIX, socket.SOCK_STREAM, place
    if kind == "unixgram":
        return socket.AF_UNIX, socket.SOCK_DGRAM, place
    if kind == "abstract":
        return socket.AF_UNIX, socket.SOCK_STREAM, "\0" + place
    host, port = place.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    stream = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    return family, stream, (host, int(port))


def listening(kind, place):
    family, stream, where = address(kind, place)
    server = socket.socket(family, stream)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(where)
    if stream == socket.SOCK_STREAM:
        server.listen(64)
    return server


def serve(kind, place, ready, how="on"):
    """Answers every connection, or one."""
    server = listening(kind, place)
    open(ready, "w").close()
    while True:
        if server.type == socket.SOCK_DGRAM:
            _, sender = server.recvfrom(100)
            if sender:
                server.sendto(b"good", sender)
        else:
            connection, _ = server.accept()
            connection.send(b"good")
            connection.close()
        if how == "once":
            return


def dial(kind, place):
    family, stream, where = address(kind, place)
    client = socket.socket(family, stream)
    client.settimeout(2)
    try:
        if stream == socket.SOCK_DGRAM:
            client.sendto(b"hello", where)
            client.settimeout(0.1)
        else:
            client.connect(where)
        print(client.recv(100))
    except OSError as error:
        print(error)


def dial_without_waiting(kind, place):
    family, stream, where = address(kind, place)
    client = socket.socket(family, stream)
    client.setblocking(False)
    client.connect_ex(where)
    select.select([], [client], [], 2)
    print(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def wait_for(kind, place):
    """Connects until somebody answers."""
    family, stream, where = address(kind, place)
    for _ in range(200):
        try:
            client = socket.socket(family, stream)
            client.connect(where)
            return print(client.recv(100))
        except OSError:
            time.sleep(0.02)


def once(server):
    def answer():
        connection, _ = server.accept()
        connection.send(b"own")
        connection.close()
        server.close()

    threading.Thread(target=answer).start()


def own(kind="tcp", place="127.0.0.1:0", host=None):
    server = listening(kind, place)
    where = server.getsockname()
    once(server)
    client = socket.socket(server.family if host is None else socket.AF_INET, server.type)
    client.connect(where if host is None else (host, where[1]))
    assert client.recv(10) == b"own"


def own_many(count):
    for _ in range(int(count)):
        own()


def own_parallel(count):
    threads = [threading.Thread(target=own) for _ in range(int(count))]
    [t.start() for t in threads]
    [t.join() for t in threads]


def own_polled(place):
    """A child asks for the server before it listens."""
    child = subprocess.Popen([sys.executable, __file__, "wait_for", "tcp", place])
    time.sleep(0.15)
    once(listening("tcp", place))
    assert child.wait() == 0


def own_polled_given():
    """The same with a port that the kernel chose, bound and not listening yet."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    place = "127.0.0.1:%d" % server.getsockname()[1]
    child = subprocess.Popen([sys.executable, __file__, "wait_for", "tcp", place])
    time.sleep(0.15)
    server.listen(5)
    once(server)
    assert child.wait() == 0


def own_udp():
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    one.bind(("127.0.0.1", 0))
    other.sendto(b"x", one.getsockname())
    _, sender = one.recvfrom(10)
    one.sendto(b"y", sender)
    assert other.recv(10) == b"y"


def own_forked():
    ready, write = os.pipe()
    if os.fork() == 0:
        server = listening("tcp", "127.0.0.1:0")
        os.write(write, b"%d\n" % server.getsockname()[1])
        connection, _ = server.accept()
        connection.close()
        os._exit(0)
    port = int(os.read(ready, 20))
    socket.create_connection(("127.0.0.1", port)).close()
    os.wait()


def own_inherited():
    """The parent listens, another program accepts, a third connects."""
    server = listening("tcp", "127.0.0.1:0")
    os.set_inheritable(server.fileno(), True)
    code = "import socket,sys; socket.socket(fileno=int(sys.argv[1])).accept()[0].send(b'own')"
    accepting = [sys.executable, "-c", code, str(server.fileno())]
    child = subprocess.Popen(accepting, close_fds=False)
    place = "127.0.0.1:%d" % server.getsockname()[1]
    server.close()
    subprocess.run([sys.executable, __file__, "dial", "tcp", place], check=True)
    assert child.wait() == 0


def own_without_bind():
    server = socket.socket()
    server.listen(1)
    client = socket.create_connection(("127.0.0.1", server.getsockname()[1]))
    client.close()


def own_abstract():
    own("abstract", "tamis-own-%d" % os.getpid())


def wants(kind, place):
    """Only wants an address."""
    family, stream, where = address(kind, place)
    try:
        socket.socket(family, stream).bind(where)
    except OSError as error:
        print(error)


def tell(path, mode):
    with open(path, mode) as file:
        print(file.seek(0, os.SEEK_END))


def seek_end(path):
    descriptor = os.open(path, os.O_WRONLY)
    print(os.lseek(descriptor, 0, os.SEEK_END))


def write_here(path):
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, b"#", 0)


def attempt(call, *arguments):
    try:
        print(getattr(os, call)(*arguments))
    except OSError as error:
        print(error)


def open_with(path, *flags):
    value = 0
    for flag in flags:
        value |= getattr(os, flag)
    attempt("open", path, value)


def rename_keeping(old, new):
    print(LIBC.renameat2(-100, old.encode(), -100, new.encode(), 1))


def attributes_of_open(path):
    with open(path) as file:
        try:
            print(os.getxattr(file.fileno(), "user.k"))
        except OSError as error:
            print(error)


def set_attribute(path, name, value):
    os.setxattr(path, name, value.encode())


def allowed(path, mode):
    print(os.access(path, getattr(os, mode)))


def mapped(path):
    with open(path) as file:
        print(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:])


def sent(path):
    with open(path) as file:
        os.sendfile(1, file.fileno(), 0, 100)


def copied(path, to):
    with open(path) as file, open(to, "w") as copy:
        os.copy_file_range(file.fileno(), copy.fileno(), 100)


def spliced(path):
    out, into = os.pipe()
    with open(path) as file:
        print(os.splice(file.fileno(), into, 100), os.read(out, 100))


def handed(path):
    """One process opens, another reads."""
    one, other = socket.socketpair(socket.AF_UNIX)
    if os.fork() == 0:
        with open(path) as file:
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))
            other.sendmsg([b"x"], [rights])
        os._exit(0)
    _, found, _, _ = one.recvmsg(1, socket.CMSG_LEN(4))
    os.wait()
    print(os.read(int.from_bytes(found[0][2][:4], sys.byteorder), 100))


def at_folder(folder, name):
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    print(os.read(os.open(name, os.O_RDONLY, dir_fd=place), 100))


def reopened(path):
    held = os.open(path, os.O_PATH)
    print(open("/proc/self/fd/%d" % held).read())


def by_thread(path):
    thread = threading.Thread(target=lambda: print(open(path).read()))
    thread.start()
    thread.join()


def ring(entries="4"):
    """Makes a ring, with which files could be read."""
    print(LIBC.syscall(425, int(entries), ctypes.create_string_buffer(256)))


globals()[sys.argv[1]](*sys.argv[2:])
