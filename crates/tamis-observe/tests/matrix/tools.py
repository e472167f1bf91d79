"""What the cases of the matrix start: servers, clients, and small programs that ask one thing."""
import array, ctypes, fcntl, mmap, os, select, socket, struct, subprocess, sys, threading, time

LIBC = ctypes.CDLL(None, use_errno=True)


def address(kind, place):
    if kind == "unix":
        return socket.AF_UNIX, socket.SOCK_STREAM, place
    if kind == "unixgram":
        return socket.AF_UNIX, socket.SOCK_DGRAM, place
    if kind == "unixpacket":
        return socket.AF_UNIX, socket.SOCK_SEQPACKET, place
    if kind == "abstract":
        return socket.AF_UNIX, socket.SOCK_STREAM, "\0" + place
    if kind == "abstractgram":
        return socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + place
    host, port = place.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    stream = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    return family, stream, (host, int(port))


def new(kind, family, stream):
    return socket.socket(family, stream, 262 if kind == "mptcp" else 0)


def listening(kind, place):
    family, stream, where = address(kind, place)
    server = new(kind, family, stream)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(where)
    if stream != socket.SOCK_DGRAM:
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
    client = new(kind, family, stream)
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


def connected(kind, place):
    """A socket for datagrams that is connected first."""
    family, stream, where = address(kind, place)
    client = socket.socket(family, stream)
    client.settimeout(0.1)
    try:
        client.connect(where)
        client.send(b"hello")
        print(client.recv(100))
    except OSError as error:
        print(error)


def message(kind, place):
    family, stream, where = address(kind, place)
    try:
        print(socket.socket(family, stream).sendmsg([b"hello"], [], 0, where))
    except OSError as error:
        print(error)


def messages(*places):
    """sendmmsg: several addresses in one call."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    kept, headers = [], b""
    for place in places:
        host, port = place.rsplit(":", 1)
        name = struct.pack("=H", 2) + struct.pack("!H", int(port)) + socket.inet_aton(host) + bytes(8)
        text = ctypes.create_string_buffer(b"hello")
        name = ctypes.create_string_buffer(name, 16)
        piece = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(text), 5))
        kept += [text, name, piece]
        header = (ctypes.addressof(name), 16, ctypes.addressof(piece), 1, 0, 0, 0, 0)
        headers += struct.pack("QIxxxxQQQQixxxxIxxxx", *header)
    print(LIBC.syscall(307, client.fileno(), headers, len(places), 0))


def send_first(place):
    """The first message opens the connection (MSG_FASTOPEN)."""
    _, _, where = address("tcp", place)
    try:
        client = socket.socket()
        client.sendto(b"hello", 0x20000000, where)
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


def exchange(one, other):
    print(LIBC.renameat2(-100, one.encode(), -100, other.encode(), 2))


def shortened(path):
    os.truncate(path, 1)


def mapped_to_write(path):
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
        memory[0:1] = b"#"
        memory.flush()


def named_later(path):
    """A file that has no name until it is written."""
    file = os.open(".", os.O_TMPFILE | os.O_WRONLY)
    os.write(file, b"own\n")
    os.link("/proc/self/fd/%d" % file, path, follow_symlinks=True)


def out_of_gone(folder, path):
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(folder)
    print(os.read(os.open(path, os.O_RDONLY, dir_fd=place), 100))


def by_fchdir(folder, name):
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.chdir("/")
    os.fchdir(place)
    print(open(name).read())


def in_memory(path):
    copy = os.memfd_create("copy")
    os.write(copy, open(path, "rb").read())
    print(open("/proc/self/fd/%d" % copy).read())


def run_in_memory(path):
    copy = os.memfd_create("copy", 0)
    os.write(copy, open(path, "rb").read())
    os.execve(copy, ["copy"], os.environ)


def run_descriptor(path):
    os.execve(os.open(path, os.O_RDONLY), ["p"], os.environ)


def foreign_descriptor():
    """Takes a descriptor out of a process that runs for another reason."""
    process = os.pidfd_open(int(open(os.environ["AWAY"] + "/other").read()))
    print(LIBC.syscall(438, process, 0, 0))


def openat2(path, resolve):
    """Opens with rules for the way."""
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, int(resolve, 0))
    print(LIBC.syscall(437, -100, path.encode(), ctypes.byref(how), 24))


def by_handle(path, reopen=""):
    """A name for the file that is none, and back."""
    handle = ctypes.create_string_buffer(144)
    ctypes.c_uint32.from_buffer(handle).value = 128
    mount = ctypes.c_int()
    print(LIBC.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount), 0))
    if reopen:
        print(LIBC.open_by_handle_at(os.open(".", os.O_RDONLY), handle, 0))


def statx(path):
    print(LIBC.statx(-100, path.encode(), 0, 0x7FF, ctypes.create_string_buffer(256)))


def faccessat2(path, mode):
    print(LIBC.syscall(439, -100, path.encode(), int(mode), 0x200))


def looked_at_by_handle(path):
    """O_PATH, and the descriptor is asked."""
    print(os.fstat(os.open(path, os.O_PATH)).st_size)


def link_by_handle(path):
    held = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    print(os.readlink("", dir_fd=held))


def watched(path):
    print(LIBC.inotify_add_watch(LIBC.inotify_init(), path.encode(), 0xFFF))


def locked(path, mode):
    with open(path, mode) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        print(file.seek(0, os.SEEK_END))


def attributes_by_number(path):
    held = os.open(path, os.O_PATH)
    attempt("getxattr", "/proc/self/fd/%d" % held, "user.k")


def table(path, statement):
    import sqlite3

    with sqlite3.connect(path) as database:
        print(database.execute(statement).fetchall())


def ring(entries="4"):
    """Makes a ring, with which files could be read."""
    print(LIBC.syscall(425, int(entries), ctypes.create_string_buffer(256)))


def long_name(content=None):
    if content is None:
        print(open("n" * 255).read())
    else:
        open("n" * 255, "w").write(content)


def too_long_name():
    attempt("stat", "n" * 256)


def deep(count, name, content=None):
    """A file below that many folders, step by step."""
    name = name if name == "d" else name * 50
    for _ in range(int(count)):
        if content is not None and not os.path.isdir(name):
            os.mkdir(name)
        os.chdir(name)
    if content is None:
        print(open("f").read())
    else:
        open("f", "w").write(content)


def by_map_files(path):
    with open(path) as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    for name in os.listdir("/proc/self/map_files"):
        where = "/proc/self/map_files/" + name
        if os.readlink(where).endswith("/" + path):
            print(open(where).read(), memory[:])


def holds_memory():
    copy = os.memfd_create("copy")
    os.write(copy, b"good")
    with open(os.environ["AWAY"] + "/holds.new", "w") as file:
        file.write(str(copy))
    os.rename(file.name, file.name[:-4])
    time.sleep(60)


def reopened_to_write(path):
    held = os.open(path, os.O_PATH)
    file = os.open("/proc/self/fd/%d" % held, os.O_WRONLY)
    os.pwrite(file, b"#", os.lseek(file, 0, os.SEEK_END))


def named_by_number(path):
    file = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.write(file, b"own\n")
    print(LIBC.linkat(file, b"", -100, path.encode(), 0x1000))


def dial_in_folder(folder):
    """A way to sockets whose path is too long."""
    place = os.open(folder, os.O_PATH)
    dial("unix", "/proc/self/fd/%d/s" % place)


def run_at(folder, program):
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    arguments = (ctypes.c_char_p * 2)(program.encode(), None)
    print(LIBC.syscall(322, place, program.encode(), arguments, arguments, 0))


def in_users(path):
    """In a name space of users of its own."""
    print(LIBC.unshare(0x10000000))
    print(open(path).read())


def landlocked(path):
    """Only reading is allowed from then on."""
    LIBC.prctl(38, 1, 0, 0, 0)
    rules = LIBC.syscall(444, ctypes.byref(ctypes.c_uint64(1 << 1)), 8, 0)
    if rules >= 0:
        print(LIBC.syscall(446, rules, 0))
    print(open(path).read())
    attempt("open", "new", os.O_CREAT | os.O_WRONLY)


def from_memory_of_child(path):
    ready, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = ctypes.create_string_buffer(open(path, "rb").read())
        os.write(write, b"%d %d\n" % (ctypes.addressof(text), len(text)))
        time.sleep(60)
    address, length = map(int, os.read(ready, 100).split())
    text = ctypes.create_string_buffer(length)
    ours = (ctypes.c_uint64 * 2)(ctypes.addressof(text), length)
    theirs = (ctypes.c_uint64 * 2)(address, length)
    print(LIBC.process_vm_readv(child, ours, 1, theirs, 1, 0), text.raw)
    os.kill(child, 9)
    os.wait()


def walked(folder):
    for _, folders, files, _ in os.fwalk(folder):
        print(folders, files)


def marked(path):
    queue = LIBC.fanotify_init(0x200, 0)
    print(LIBC.fanotify_mark(queue, 1, 0x40000000 | 0x100, -100, path.encode()))


def to_many(place):
    host, port = place.rsplit(":", 1)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    client.settimeout(0.2)
    try:
        client.sendto(b"hello", (host, int(port)))
        print(client.recv(100))
    except OSError as error:
        print(error)


def taking_part(place):
    host, port = place.rsplit(":", 1)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", int(port)))
    membership = socket.inet_aton(host) + socket.inet_aton("127.0.0.1")
    server.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    return server


def join_many(place, ready):
    server = taking_part(place)
    open(ready, "w").close()
    while True:
        _, sender = server.recvfrom(100)
        server.sendto(b"good", sender)


def own_many_take_part(host):
    server = taking_part(host + ":0")
    to_many("%s:%d" % (host, server.getsockname()[1]))
    print(server.recv(10))


def dial_after_child(place):
    if os.fork() == 0:
        own("tcp", "127.0.0.1:0")
        os._exit(0)
    os.wait()
    dial("tcp", place)


globals()[sys.argv[1]](*sys.argv[2:])
