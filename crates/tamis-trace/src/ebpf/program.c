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

#include "kernel.h"
#include "shared.h"

// ---- building a record ---------------------------------------------------------------------------

INLINE struct scratch *this_scratch(void)
{
    u32 zero = 0;
    return map_lookup(&scratch, &zero);
}

INLINE void count_lost(u32 run)
{
    struct run *entry = map_lookup(&runs, &run);
    if (entry)
        __sync_fetch_and_add(&entry->lost, 1);
}

INLINE void release(struct scratch *s)
{
    s->busy = 0;
}

// The record under construction, or null when it cannot be built now (then the run is told).
INLINE struct scratch *begin(u32 run, u32 thread, u32 kind, s64 result)
{
    struct scratch *s = this_scratch();
    if (!s)
        return 0;
    if (s->busy) {
        count_lost(run);
        return 0;
    }
    s->busy = 1;
    s->record.run = run;
    s->record.thread = thread;
    s->record.time = monotonic_ns();
    s->record.result = result;
    s->record.argument = 0;
    s->record.number = 0;
    s->record.kind = kind;
    s->record.marks = 0;
    s->record.lengths[0] = s->record.lengths[1] = 0;
    s->record.lengths[2] = s->record.lengths[3] = 0;
    return s;
}

INLINE void submit(struct scratch *s, u32 used)
{
    u64 size = RECORD_HEAD + (used & (2 * DATA_LIMIT - 1));
    if (size > sizeof(struct record))
        size = sizeof(struct record);
    // The reader looks by itself at short intervals: a wake-up would cost more than the record.
    if (ring_output(&events, &s->record, size, BPF_RB_NO_WAKEUP))
        count_lost(s->record.run);
}

INLINE void send_bare(u32 run, u32 thread, u32 kind, s64 result, u64 argument)
{
    struct scratch *s = begin(run, thread, kind, result);
    if (!s)
        return;
    s->record.argument = argument;
    submit(s, 0);
    release(s);
}

// Appends the names from `dentry` on `mount` outwards up to the task's root. Returns the number of
// bytes in the low half and the marks in the high half.
SHARED u64 append_base(u64 mount_address, u64 dentry_address, u32 from)
{
    struct scratch *s = this_scratch();
    if (!s)
        return 0;
    struct vfsmount *mounted = (void *)mount_address;
    struct dentry *dentry = (void *)dentry_address;
    struct task_struct *task = (void *)current_task();
    struct fs_struct *fs;
    struct vfsmount *root_mount;
    struct dentry *root_dentry;
    u64 unreadable = (u64)MARK_BASE_UNREADABLE << 32;
    u64 marks = 0;
    u32 at = from;

    if (READ(fs, &task->fs) || READ(root_mount, &fs->root.mnt) || READ(root_dentry, &fs->root.dentry))
        return unreadable;

    for (u32 depth = 0; depth < DEPTH_LIMIT; depth++) {
        struct dentry *top, *parent;
        const unsigned char *name;

        if (dentry == root_dentry && mounted == root_mount)
            return marks | (at - from);
        if (READ(top, &mounted->mnt_root))
            return unreadable;
        if (dentry == top) {
            struct mount *own = (void *)mounted - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
            struct mount *outer;
            if (READ(outer, &own->mnt_parent))
                return unreadable;
            // The outermost mount without having met the task's root.
            if (outer == own)
                return (u64)MARK_BASE_DETACHED << 32;
            if (READ(dentry, &own->mnt_mountpoint))
                return unreadable;
            mounted = &outer->mnt;
            continue;
        }
        if (READ(parent, &dentry->d_parent))
            return unreadable;
        if (parent == dentry)
            return (u64)MARK_BASE_DETACHED << 32;
        if (depth == 0) {
            void *hashed;
            if (READ(hashed, &dentry->d_hash.pprev))
                return unreadable;
            if (!hashed)
                marks = (u64)MARK_BASE_DELETED << 32;
        }
        if (READ(name, &dentry->d_name.name))
            return unreadable;
        at &= DATA_LIMIT - 1;
        long length = read_kernel_str(&s->record.data[at], NAME_LIMIT, name);
        if (length < 0)
            return unreadable;
        at += length;
        if (at - from > PATH_LIMIT)
            return (u64)MARK_BASE_LONG << 32;
        dentry = parent;
    }
    return (u64)MARK_BASE_LONG << 32;
}

#define AT_FDCWD (-100)

INLINE struct file *file_of(s32 descriptor)
{
    struct task_struct *task = (void *)current_task();
    struct files_struct *files;
    struct fdtable *table;
    struct file **slots;
    struct file *file = 0;
    u32 count;

    if (READ(files, &task->files) || !files || READ(table, &files->fdt) || READ(count, &table->max_fds))
        return 0;
    if (descriptor < 0 || (u32)descriptor >= count || READ(slots, &table->fd))
        return 0;
    if (READ(file, slots + descriptor))
        return 0;
    return file;
}

INLINE u64 inode_of(s32 descriptor)
{
    struct file *file = file_of(descriptor);
    u64 inode = 0;
    if (file)
        READ(inode, &file->f_inode);
    return inode;
}

// The directory that a descriptor or AT_FDCWD names.
SHARED u64 append_directory(s32 descriptor, u32 from)
{
    struct task_struct *task = (void *)current_task();
    u64 mounted, dentry;
    u64 unreadable = (u64)MARK_BASE_UNREADABLE << 32;

    if (descriptor == AT_FDCWD) {
        struct fs_struct *fs;
        if (READ(fs, &task->fs) || !fs || READ(mounted, &fs->pwd.mnt) || READ(dentry, &fs->pwd.dentry))
            return unreadable;
    } else {
        struct file *file = file_of(descriptor);
        if (!file || READ(mounted, &file->f_path.mnt) || READ(dentry, &file->f_path.dentry))
            return unreadable;
    }
    return append_base(mounted, dentry, from);
}

// Adds the base of path `which` behind `at`; returns the new end.
INLINE u32 add_base(struct scratch *s, u32 which, s32 descriptor, u32 at)
{
    u64 answer = append_directory(descriptor, at);
    u32 length = (u32)answer & (2 * PATH_LIMIT - 1);
    s->record.marks |= (u16)((answer >> 32) << (which * 8));
    s->record.lengths[which * 2 + 1] = length;
    return at + length;
}

#define EFAULT 14
#define ENAMETOOLONG 36
#define ENOENT 2
#define SKIP (~0u)

// Adds the base of path `which` as the call's table row says.
INLINE u32 add_own_base(struct scratch *s, const volatile struct call *call, u32 which, u32 at)
{
    s32 descriptor = AT_FDCWD;
    if (call->directory[which])
        descriptor = (s32)s->arguments[(call->directory[which] - 1) & 7];
    return add_base(s, which, descriptor, at);
}

// Adds one path argument with its base behind `at`. Returns the new end, or SKIP when this path makes
// the whole call one that looked at nothing.
INLINE u32 add_path(struct scratch *s, const volatile struct call *call, u32 which, u32 at)
{
    u64 address = s->arguments[(call->path[which] - 1) & 7];
    s64 result = s->record.result;
    u32 or_descriptor = call->path[which] & OR_DESCRIPTOR;

    if (!address)
        return or_descriptor ? add_own_base(s, call, which, at) : SKIP;
    at &= DATA_LIMIT - 1;
    long length = read_user_str(&s->record.data[at], PATH_LIMIT, (void *)address);
    if (length <= 0) {
        s->record.marks |= MARK_PATH_UNREADABLE << (which * 8);
        return at;
    }
    // Too long for the kernel as well: no file was looked at.
    if (length == PATH_LIMIT && result == -ENAMETOOLONG)
        return SKIP;
    u8 first = s->record.data[at];
    if (!first)
        return or_descriptor ? add_own_base(s, call, which, at) : SKIP;
    if (call->output && result >= 0) {
        u64 output = s->arguments[(call->output - 1) & 7];
        u64 size = call->output_size ? (u64)call->output_size * 8 : (u64)result;
        if (address < output + size && output < address + length)
            s->record.marks |= MARK_PATH_OVERWRITTEN << (which * 8);
    }
    s->record.lengths[which * 2] = length;
    at += length;
    if (first == '/' || call->directory[which] == BASE_SENT)
        return at;
    return add_own_base(s, call, which, at);
}

INLINE void send_paths(struct scratch *s, const volatile struct call *call)
{
    u32 at = 0;
    if (s->record.result == -EFAULT)
        return;
    if (call->kind == OPENAT2) {
        // struct open_how: flags, mode, resolve.
        u64 how[3] = {};
        if (read_user(how, sizeof(how), (void *)s->arguments[2]))
            s->record.marks |= MARK_PATH_UNREADABLE;
        s->record.argument = (how[0] & 0xffffffff) | how[2] << 32;
    }
    at = call->path[0] ? add_path(s, call, 0, at) : add_own_base(s, call, 0, at);
    if (at == SKIP)
        return;
    if (call->path[1]) {
        at = add_path(s, call, 1, at);
        if (at == SKIP)
            return;
    }
    submit(s, at);
}

#define AF_UNIX 1

// Sends the socket address at `address`.
SHARED u64 send_address(u64 address, u32 size)
{
    struct scratch *s = this_scratch();
    if (!s)
        return 0;
    u32 at = size;
    // The kernel refuses longer ones.
    if (!address || at < 2 || at > ADDRESS_LIMIT || s->record.result == -EFAULT)
        return 0;
    s->record.marks = 0;
    s->record.lengths[1] = 0;
    if (read_user(s->record.data, at, (void *)address)) {
        s->record.marks = MARK_PATH_UNREADABLE;
        s->record.lengths[0] = 0;
        submit(s, 0);
        return 0;
    }
    s->record.lengths[0] = at;
    u16 family = *(u16 *)s->record.data;
    u8 first = s->record.data[2];
    if (family == AF_UNIX && at > 2 && first && first != '/')
        at = add_base(s, 0, AT_FDCWD, at);
    submit(s, at);
    return 0;
}

// struct msghdr, as far as needed.
struct message {
    u64 name;
    u32 name_size;
    u32 unused;
};
#define MESSAGE_STRIDE 64
#define MESSAGE_LIMIT 16

// Returns whether the message has an address of its own.
INLINE u32 send_message(struct scratch *s, u64 address)
{
    struct message message = {};
    if (s->record.result == -EFAULT)
        return 0;
    if (read_user(&message, sizeof(message), (void *)address)) {
        s->record.marks = MARK_PATH_UNREADABLE;
        s->record.lengths[0] = s->record.lengths[1] = 0;
        submit(s, 0);
        return 1;
    }
    send_address(message.name, message.name_size);
    return message.name != 0;
}

INLINE void send_messages(struct scratch *s)
{
    u64 address = s->arguments[1];
    s64 count = s->record.result;
    u32 addressed = 0;
    if (count < 0)
        count = 1;
    for (u32 i = 0; i < MESSAGE_LIMIT; i++) {
        if (i >= count)
            return;
        addressed |= send_message(s, address + (u64)i * MESSAGE_STRIDE);
    }
    if (addressed && count > MESSAGE_LIMIT) {
        s->record.marks = MARK_MORE_MESSAGES;
        s->record.lengths[0] = s->record.lengths[1] = 0;
        submit(s, 0);
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
    send_bare(entry.run, thread, ADOPTED, 0, 0);
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
        send_bare(number, thread, TREE_GONE, 0, 0);
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
    const char *name;
    u32 at = 0;
    s->record.argument = before;
    long length = -1;
    if (!READ(name, &program->filename))
        length = read_kernel_str(s->record.data, PATH_LIMIT, name);
    if (length <= 0) {
        s->record.marks = MARK_PATH_UNREADABLE;
    } else {
        s->record.lengths[0] = length;
        at = length;
        if (s->record.data[0] != '/')
            at = add_base(s, 0, AT_FDCWD, at);
    }
    submit(s, at);
    release(s);
    return 0;
}

// ---- system calls --------------------------------------------------------------------------------

#define X32_BIT 0x40000000
#define TS_COMPAT 2
#define TIF_32BIT (1 << 22)

// Whether the call that is being made is of another machine's numbering.
INLINE u32 is_foreign(u64 number)
{
    struct task_struct *task = (void *)current_task();
#if defined(__TARGET_ARCH_x86)
    u32 status = 0;
    READ(status, &task->thread_info.status);
    return (status & TS_COMPAT) || ((s32)number >= 0 && (number & X32_BIT));
#else
    (void)number;
    unsigned long flags = 0;
    READ(flags, &task->thread_info.flags);
    return (flags & TIF_32BIT) != 0;
#endif
}

#define CLONE_NEWNS 0x00020000

INLINE void report_call(struct scratch *s, const volatile struct call *call, struct tracked *task)
{
    s64 result = s->record.result;
    u64 argument = s->record.argument;

    switch (call->kind) {
    case EXECUTE:
    case EXECUTE_AT:
        // A success was reported by `on_exec`.
        if (result >= 0)
            return;
        break;
    case CONNECT:
    case BIND:
        send_address(s->arguments[1], (u32)s->arguments[2]);
        return;
    case SEND_TO:
        send_address(s->arguments[4], (u32)s->arguments[5]);
        return;
    case SEND_MESSAGE:
        send_message(s, s->arguments[1]);
        return;
    case SEND_MESSAGES:
        send_messages(s);
        return;
    case CLONE3:
        if (read_user(&argument, sizeof(argument), (void *)s->arguments[0]))
            s->record.marks = MARK_PATH_UNREADABLE;
        else if (!(argument & CLONE_NEWNS))
            return;
        if (result > 0)
            submit(s, 0);
        return;
    case CLONE:
        if (result >= 0 && (argument & CLONE_NEWNS))
            submit(s, 0);
        return;
    case IO_URING:
    case FILE_HANDLE:
    case NAMESPACE:
        if (result >= 0)
            submit(s, 0);
        return;
    case READ_DESCRIPTOR:
        if (inode_of((s32)argument) == task->stdin_inode) {
            task->stdin_inode = 0;
            task->watch_stdin = 0;
            submit(s, 0);
        }
        return;
    }
    send_paths(s, call);
}

SEC("raw_tracepoint/sys_exit")
int on_return(struct context *context)
{
    const u64 *saved = (void *)context->args[0];
    u64 number = 0;
    READ(number, saved + NUMBER_SLOT);
    number = (u32)number;
    u32 foreign = is_foreign(number);
    const volatile struct call *call = &CALLS[0];
    if (number < CALL_LIMIT)
        call = &CALLS[number & (CALL_LIMIT - 1)];
    u32 kind = call->kind;
    if (kind == NOTHING && !foreign)
        return 0;

    u32 thread = (u32)current_pid_tgid();
    struct tracked *task = map_lookup(&tracked, &thread);
    if (!task) {
        if (WAITING)
            adopt_if_root(thread);
        return 0;
    }
    if (foreign) {
        if (!task->foreign_reported) {
            task->foreign_reported = 1;
            send_bare(task->run, thread, FOREIGN, 0, 0);
        }
        return 0;
    }
    if (kind == READ_DESCRIPTOR && !task->stdin_inode)
        return 0;

    struct scratch *s = begin(task->run, thread, kind, (s64)context->args[1]);
    if (!s)
        return 0;
    if (read_kernel(s->registers, sizeof(s->registers), saved)) {
        count_lost(task->run);
    } else {
        ARGUMENTS(s->arguments, s->registers);
        s->record.number = number;
        if (call->argument)
            s->record.argument = s->arguments[(call->argument - 1) & 7];
        report_call(s, call, task);
    }
    release(s);
    return 0;
}

SEC("raw_tracepoint/sys_enter")
int on_entry(struct context *context)
{
    u64 number = (u32)context->args[1];
    if (number >= CALL_LIMIT)
        return 0;
    u32 kind = CALLS[number & (CALL_LIMIT - 1)].kind;
    if (kind != CHDIR && kind != EXECUTE_AT)
        return 0;
    u32 thread = (u32)current_pid_tgid();
    struct tracked *task = map_lookup(&tracked, &thread);
    if (!task || is_foreign(number))
        return 0;
    struct scratch *s = begin(task->run, thread, BASE, 0);
    if (!s)
        return 0;
    s32 descriptor = AT_FDCWD;
    const u64 *saved = (void *)context->args[0];
    if (kind == EXECUTE_AT) {
        if (read_kernel(s->registers, sizeof(s->registers), saved))
            count_lost(task->run);
        ARGUMENTS(s->arguments, s->registers);
        descriptor = (s32)s->arguments[0];
    }
    s->record.argument = (u32)descriptor;
    submit(s, add_base(s, 0, descriptor, 0));
    release(s);
    return 0;
}

// The helpers that read kernel memory are open to programs under this licence only.
char LICENSE[] SEC("license") = "Dual MIT/GPL";
