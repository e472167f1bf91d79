// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The kernel side of the eBPF engine.
//
// Model. `tracked` holds every task of every observed tree: thread id -> run. A task enters it when
// it is forked by a tracked task (before it can run) or when it is the root of a run that user space
// announced in `roots`; it leaves when it exits. Each call of a tracked task that `CALLS` names
// becomes one record in `events` when the call returns: only then is the result known, and the pages
// that hold its paths are present, since the kernel itself has just read them. Two calls change their
// own base before they return (chdir, execveat): their base is sent when they start.
// A successful execve has lost the memory of the old program when it returns; its path comes from
// the exec tracepoint.
//
// What is not seen: calls made through io_uring (its setup is reported), and anything done for the
// tree by a process that is not in it.
//
// The program decides nothing: whatever it cannot read it marks in the record, and user space turns
// the mark into a taint. A record that does not fit into the ring is counted in `runs`.

#include "building.h"

// ---- paths and addresses -------------------------------------------------------------------------

#define EFAULT 14
#define ENAMETOOLONG 36

// The base of path `which` as the call's table row says.
INLINE void want_own_base(struct scratch *s, const volatile struct call *call, u32 which)
{
    s32 descriptor = AT_FDCWD;
    if (call->directory[which])
        descriptor = (s32)s->arguments[(call->directory[which] - 1) & 7];
    want_base(s, which, descriptor);
}

// Adds one path argument. False when this path makes the whole call one that looked at nothing.
INLINE u32 add_path(struct scratch *s, const volatile struct call *call, u32 which)
{
    u64 address = s->arguments[(call->path[which] - 1) & 7];
    s64 result = s->record.result;
    u32 or_descriptor = call->path[which] & OR_DESCRIPTOR;
    u32 at = s->used & (DATA_LIMIT - 1);

    if (!address) {
        want_own_base(s, call, which);
        return or_descriptor;
    }
    long length = read_user_str(&s->record.data[at], PATH_LIMIT, (void *)address);
    if (length <= 0) {
        mark(s, which, MARK_PATH_UNREADABLE);
        return 1;
    }
    // Too long for the kernel as well: no file was looked at.
    if (length == PATH_LIMIT && result == -ENAMETOOLONG)
        return 0;
    u8 first = s->record.data[at];
    if (!first) {
        want_own_base(s, call, which);
        return or_descriptor;
    }
    if (call->output && result >= 0) {
        u64 output = s->arguments[(call->output - 1) & 7];
        u64 size = call->output_size ? (u64)call->output_size * 8 : (u64)result;
        if (address < output + size && output < address + length)
            mark(s, which, MARK_PATH_OVERWRITTEN);
    }
    s->record.path_length[which] = length;
    s->used = at + length;
    if (first == '/') {
        u8 second = s->record.data[at + 1], third = s->record.data[at + 2];
        if ((second == 'p' && third == 'r') || (second == 'd' && third == 'e'))
            want_own_link(s, which, address);
    } else if (call->directory[which] != BASE_SENT) {
        want_own_base(s, call, which);
    }
    return 1;
}

#define O_ACCMODE 3
#define NO_LENGTH 0xffffffff

// Adds, to the flags of an open, how long the file is that is to be written.
INLINE void add_length(struct scratch *s)
{
    u64 length = NO_LENGTH;
    struct inode *inode = 0;
    s64 size = 0;
    if (s->record.result >= 0 && (s->record.argument & O_ACCMODE)) {
        struct file *file = file_of((s32)s->record.result);
        if (file && !READ(inode, &file->f_inode) && inode && !READ(size, &inode->i_size) &&
            size >= 0 && size < NO_LENGTH)
            length = size;
    }
    s->record.argument = (s->record.argument & 0xffffffff) | length << 32;
}

// Adds the paths of a call. False when it looked at nothing.
INLINE u32 add_paths(struct scratch *s, const volatile struct call *call)
{
    if (s->record.result == -EFAULT)
        return 0;
    if (call->kind == OPENAT2) {
        // struct open_how: flags, mode, resolve.
        u64 how[3] = {};
        if (read_user(how, sizeof(how), (void *)s->arguments[2]))
            mark(s, 0, MARK_PATH_UNREADABLE);
        s->record.argument = (how[0] & 0xffffffff) | how[2] << 32;
    }
    if (call->kind == OPEN)
        add_length(s);
    if (!call->path[0])
        want_own_base(s, call, 0);
    else if (!add_path(s, call, 0))
        return 0;
    return !call->path[1] || add_path(s, call, 1);
}

#define AF_UNIX 1

// Adds a socket address. False when there is none.
INLINE u32 add_address(struct scratch *s, u64 address, u32 size)
{
    // The kernel refuses longer ones.
    if (!address || size < 2 || size > ADDRESS_LIMIT || s->record.result == -EFAULT)
        return 0;
    // The compiler folds the test above into a form that the verifier cannot read back.
    asm volatile("" : "+r"(size));
    size &= 2 * ADDRESS_LIMIT - 1;
    s->record.data[2] = 0;
    if (read_user(s->record.data, size, (void *)address)) {
        mark(s, 0, MARK_PATH_UNREADABLE);
        return 1;
    }
    s->record.path_length[0] = size;
    s->used = size;
    u16 family = *(u16 *)s->record.data;
    u8 first = s->record.data[2];
    if (family == AF_UNIX && first && first != '/')
        want_base(s, 0, AT_FDCWD);
    return 1;
}

#define S_IFMT 0170000
#define S_IFSOCK 0140000

// The kernel's socket behind a descriptor, or null. What is sent of every socket goes along: its
// number (32 bits), its local port (16), its kind (8) and its state (8).
INLINE struct sock *add_socket(struct scratch *s, s32 descriptor)
{
    struct file *file = file_of(descriptor);
    struct inode *inode = 0;
    struct socket *socket = 0;
    struct sock *sock = 0;
    unsigned long number = 0;
    u16 mode = 0, port = 0;
    short kind = 0;
    u8 state = 0;
    if (!file || READ(inode, &file->f_inode) || READ(mode, &inode->i_mode))
        return 0;
    if ((mode & S_IFMT) != S_IFSOCK || READ(socket, &file->private_data))
        return 0;
    READ(number, &inode->i_ino);
    READ(kind, &socket->type);
    READ(sock, &socket->sk);
    if (sock) {
        READ(port, &sock->__sk_common.skc_num);
        READ(state, &sock->__sk_common.skc_state);
    }
    s->record.argument = (u32)number | (u64)port << 32 | (u64)(u8)kind << 48 | (u64)state << 56;
    return sock;
}

#define AF_INET 2
#define AF_INET6 10

// Adds the local address of a socket of the internet, in the form of a socket address.
INLINE void add_local_address(struct scratch *s, struct sock *sock)
{
    u16 family = 0, port = 0;
    if (!sock || READ(family, &sock->__sk_common.skc_family))
        return;
    READ(port, &sock->__sk_common.skc_num);
    *(u16 *)&s->record.data[0] = family;
    s->record.data[2] = port >> 8;
    s->record.data[3] = port;
    if (family == AF_INET) {
        read_kernel(&s->record.data[4], 4, &sock->__sk_common.skc_rcv_saddr);
        s->record.path_length[0] = s->used = 8;
    } else if (family == AF_INET6) {
        read_kernel(&s->record.data[8], 16, &sock->__sk_common.skc_v6_rcv_saddr);
        s->record.path_length[0] = s->used = 24;
    }
}

// struct msghdr, as far as needed.
struct message {
    u64 name;
    u32 name_size;
    u32 unused;
};
#define MESSAGE_STRIDE 64
#define MESSAGE_LIMIT 4

// Adds the address of the message at `header`. False when it has none.
INLINE u32 add_message(struct scratch *s, u64 header)
{
    struct message message = {};
    if (s->record.result == -EFAULT)
        return 0;
    if (read_user(&message, sizeof(message), (void *)header)) {
        mark(s, 0, MARK_PATH_UNREADABLE);
        return 1;
    }
    return add_address(s, message.name, message.name_size);
}

// Sends a record for each message that has an address; one record names one address.
INLINE void send_messages(struct scratch *s)
{
    u64 header = s->arguments[1];
    s64 count = s->record.result < 0 ? 1 : s->record.result;
    u32 any = 0;
    for (u32 i = 0; i < MESSAGE_LIMIT; i++) {
        if (i >= count)
            return;
        s->record.marks = 0;
        s->record.path_length[0] = 0;
        s->used = 0;
        s->wants_base[0] = 0;
        if (!add_message(s, header + (u64)i * MESSAGE_STRIDE))
            continue;
        any = 1;
        // Jumping to `finish` would end the loop.
        if (s->wants_base[0])
            mark(s, 0, MARK_BASE_UNREADABLE);
        submit(s);
    }
    if (any && count > MESSAGE_LIMIT) {
        mark(s, 0, MARK_MORE_MESSAGES);
        submit(s);
    }
}

// ---- the tree ------------------------------------------------------------------------------------

struct context {
    u64 args[8];
};

INLINE void adopt_if_root(u32 thread)
{
    struct {
        u32 pid;
        u32 tgid;
    } inside = {};
    if (ns_current_pid_tgid(PID_NAMESPACE_DEVICE, PID_NAMESPACE_INODE, &inside, sizeof(inside)))
        return;
    struct root *root = map_lookup(&roots, &inside.pid);
    if (!root)
        return;
    struct tracked entry = {.run = root->run, .watch_stdin = root->watch_stdin != 0};
    map_delete(&roots, &inside.pid);
    struct run *run = map_lookup(&runs, &entry.run);
    if (!run || map_update(&tracked, &thread, &entry, BPF_ANY))
        return;
    __sync_fetch_and_add(&run->live, 1);
    send_bare(entry.run, thread, ADOPTED);
}

SEC("raw_tracepoint/sched_process_fork")
int on_fork(struct context *context)
{
    u32 thread = (u32)current_pid_tgid();
    struct tracked *parent = map_lookup(&tracked, &thread);
    if (!parent)
        return 0;
    struct task_struct *task = (void *)context->args[1];
    struct tracked entry = *parent;
    struct run *run = map_lookup(&runs, &entry.run);
    u32 child;
    if (!run)
        return 0;
    if (READ(child, &task->pid) || map_update(&tracked, &child, &entry, BPF_ANY)) {
        count_lost(entry.run);
        return 0;
    }
    __sync_fetch_and_add(&run->live, 1);
    return 0;
}

SEC("raw_tracepoint/sched_process_exit")
int on_exit(void *context __attribute__((unused)))
{
    u32 thread = (u32)current_pid_tgid();
    struct tracked *entry = map_lookup(&tracked, &thread);
    if (!entry)
        return 0;
    u32 number = entry->run;
    map_delete(&tracked, &thread);
    struct run *run = map_lookup(&runs, &number);
    if (!run)
        return 0;
    // Adding and looking are two steps (one needs 5.12): the last task surely sees 0, perhaps two do.
    __sync_fetch_and_add(&run->live, -1);
    if (run->live == 0)
        send_bare(number, thread, TREE_GONE);
    return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int on_exec(struct context *context)
{
    u32 thread = (u32)current_pid_tgid();
    u32 before = (u32)context->args[1];
    struct tracked *found = map_lookup(&tracked, &before);
    if (!found)
        return 0;
    // A thread that is not the leader takes over the leader's number.
    if (before != thread) {
        struct tracked moved = *found;
        map_delete(&tracked, &before);
        if (map_update(&tracked, &thread, &moved, BPF_ANY)) {
            count_lost(moved.run);
            return 0;
        }
        found = map_lookup(&tracked, &thread);
        if (!found)
            return 0;
    }
    if (found->watch_stdin && !found->stdin_inode)
        found->stdin_inode = inode_of(0);

    struct scratch *s = begin(found->run, thread, EXECUTED, 0);
    if (!s)
        return 0;
    struct linux_binprm *program = (void *)context->args[2];
    const char *name, *interpreter;
    s->record.argument = before;
    long length = -1;
    if (!READ(name, &program->filename))
        length = read_kernel_str(s->record.data, PATH_LIMIT, name);
    if (length <= 0) {
        mark(s, 0, MARK_PATH_UNREADABLE);
    } else {
        s->record.path_length[0] = length;
        s->used = length;
        u8 second = s->record.data[1];
        if (s->record.data[0] != '/') {
            want_base(s, 0, AT_FDCWD);
        } else if ((second == 'p' || second == 'd') && !READ(interpreter, &program->interp) &&
                   interpreter == name) {
            // Perhaps a link of the task's own in /proc, of which we know where it led: to the
            // program that runs now. (Of a script that would be the interpreter.)
            mark(s, 0, MARK_OWN_LINK);
            want_base(s, 0, PROGRAM_FILE);
        }
    }
    send(context, s);
    return 0;
}

// ---- system calls --------------------------------------------------------------------------------

#define X32_BIT 0x40000000
#define TS_COMPAT 2
#define TIF_32BIT (1 << 22)

// Whether the call that is being made is of another machine's numbering.
INLINE u32 is_foreign(struct task_struct *task, u32 number)
{
#if defined(__TARGET_ARCH_x86)
    return (task->thread_info.status & TS_COMPAT) || ((s32)number >= 0 && (number & X32_BIT));
#else
    (void)number;
    return (task->thread_info.flags & TIF_32BIT) != 0;
#endif
}

#define CLONE_NEWNS 0x00020000

// The requests of `ioctl` that only a terminal answers; those of `OF_TERMINALS` in streams.rs.
INLINE u32 is_of_terminals(u32 request)
{
    return request == 0x5401 || request == 0x802c542a || request == 0x5413;
}

// Adds a descriptor (32 bits) and the number of the inode behind it (32 bits).
INLINE u32 add_descriptor(struct scratch *s, s32 descriptor)
{
    struct file *file = file_of(descriptor);
    struct inode *inode = 0;
    unsigned long number = 0;
    if (!file || READ(inode, &file->f_inode) || READ(number, &inode->i_ino))
        return 0;
    s->record.argument = (u32)descriptor | (u64)(u32)number << 32;
    return 1;
}

// Collects what there is to say about a call that has returned. False when that is nothing.
INLINE u32 collect(struct scratch *s, const volatile struct call *call, struct tracked *task)
{
    s64 result = s->record.result;
    u64 argument = s->record.argument;

    switch (call->kind) {
    case EXECUTE:
    case EXECUTE_AT:
        // A success was reported by `on_exec`.
        return result < 0 && add_paths(s, call);
    case CONNECT:
    case BIND:
        add_socket(s, (s32)s->arguments[0]);
        return add_address(s, s->arguments[1], (u32)s->arguments[2]);
    case LISTEN:
        if (result < 0)
            return 0;
        add_local_address(s, add_socket(s, (s32)s->arguments[0]));
        return 1;
    case SEND_TO:
        add_socket(s, (s32)s->arguments[0]);
        return add_address(s, s->arguments[4], (u32)s->arguments[5]);
    case SEND_MESSAGE:
        add_socket(s, (s32)s->arguments[0]);
        return add_message(s, s->arguments[1]);
    case SEND_MESSAGES:
        add_socket(s, (s32)s->arguments[0]);
        send_messages(s);
        return 0;
    case CLONE3:
        // An unreadable flag word counts as the worst.
        if (!read_user(&argument, sizeof(argument), (void *)s->arguments[0]) && !(argument & CLONE_NEWNS))
            return 0;
        return result > 0;
    case CLONE:
        return result >= 0 && (argument & CLONE_NEWNS);
    case IO_URING:
    case FILE_HANDLE:
    case NAMESPACE:
        return result >= 0;
    case ASK_TERMINAL:
        return is_of_terminals((u32)s->arguments[1]) && add_descriptor(s, (s32)s->arguments[0]);
    case READ_DESCRIPTOR:
        if (inode_of((s32)argument) != task->stdin_inode)
            return 0;
        // Once is enough.
        task->stdin_inode = 0;
        task->watch_stdin = 0;
        return 1;
    }
    return add_paths(s, call);
}

SEC("raw_tracepoint/sys_exit")
int on_return(struct context *context)
{
    struct task_struct *self = current_task();
    struct pt_regs *registers = saved_registers(self);
    u32 number = NUMBER(registers);
    u32 foreign = is_foreign(self, number);
    const volatile struct call *call = &CALLS[number & (CALL_LIMIT - 1)];
    u32 kind = number < CALL_LIMIT ? call->kind : NOTHING;
    if (kind == READ_DESCRIPTOR && !ATTENTIVE)
        kind = NOTHING;
    if (kind == NOTHING && !foreign)
        return 0;

    u32 thread = (u32)current_pid_tgid();
    struct tracked *task = map_lookup(&tracked, &thread);
    if (!task) {
        if (ATTENTIVE)
            adopt_if_root(thread);
        return 0;
    }
    if (foreign) {
        if (!task->foreign_reported) {
            task->foreign_reported = 1;
            send_bare(task->run, thread, FOREIGN);
        }
        return 0;
    }
    if (kind == READ_DESCRIPTOR && !task->stdin_inode)
        return 0;

    struct scratch *s = begin(task->run, thread, kind, (s64)context->args[1]);
    if (!s)
        return 0;
    ARGUMENTS(s->arguments, registers);
    s->record.number = number;
    if (call->argument)
        s->record.argument = s->arguments[(call->argument - 1) & 7];
    if (collect(s, call, task))
        send(context, s);
    else
        release(s);
    return 0;
}

SEC("raw_tracepoint/sys_enter")
int on_entry(struct context *context)
{
    u32 number = (u32)context->args[1];
    if (number >= CALL_LIMIT)
        return 0;
    u32 kind = CALLS[number & (CALL_LIMIT - 1)].kind;
    if (kind != CHDIR && kind != EXECUTE_AT)
        return 0;
    u32 thread = (u32)current_pid_tgid();
    struct tracked *task = map_lookup(&tracked, &thread);
    struct task_struct *self = current_task();
    if (!task || is_foreign(self, number))
        return 0;
    struct scratch *s = begin(task->run, thread, BASE, 0);
    if (!s)
        return 0;
    s32 descriptor = AT_FDCWD;
    if (kind == EXECUTE_AT) {
        struct pt_regs *registers = saved_registers(self);
        ARGUMENTS(s->arguments, registers);
        descriptor = (s32)s->arguments[0];
    }
    s->record.argument = (u32)descriptor;
    want_base(s, 0, descriptor);
    send(context, s);
    return 0;
}

// The helpers that read kernel memory are open to programs under this licence only.
char LICENSE[] SEC("license") = "Dual MIT/GPL";
