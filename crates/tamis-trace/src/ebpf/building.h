// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Building and sending one record, and the directory that a relative path starts from.

#pragma once

#include "shared.h"

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

// The record under construction, or null when it cannot be built now (then the loss is counted).
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
    s->record.result = result;
    s->record.argument = 0;
    s->record.number = 0;
    s->record.kind = kind;
    s->record.marks = 0;
    s->record.path_length[0] = s->record.path_length[1] = 0;
    s->record.base_length[0] = s->record.base_length[1] = 0;
    s->used = 0;
    s->wants_base[0] = s->wants_base[1] = 0;
    return s;
}

INLINE void submit(struct scratch *s)
{
    u64 size = RECORD_HEAD + (s->used & (2 * DATA_LIMIT - 1));
    if (size > sizeof(struct record))
        size = sizeof(struct record);
    s->record.time = monotonic_ns();
    // The reader looks by itself at short intervals: a wake-up would cost more than the record.
    if (ring_output(&events, &s->record, size, BPF_RB_NO_WAKEUP))
        count_lost(s->record.run);
}

INLINE void mark(struct scratch *s, u32 which, u32 marks)
{
    s->record.marks |= (u16)(marks << (which * 8));
}

INLINE void want_base(struct scratch *s, u32 which, s32 descriptor)
{
    s->wants_base[which] = 1;
    s->link_address[which] = 0;
    s->base_descriptor[which] = descriptor;
}

// The path at `address` may start with a link of the task's own in /proc; if so, its target is the
// base.
INLINE void want_own_link(struct scratch *s, u32 which, u64 address)
{
    s->wants_base[which] = 1;
    s->link_address[which] = address;
}

// Ends a program: adds the bases that are wanted and sends the record. The bases are the expensive
// part for the verifier, so they are in one program that the others jump to.
INLINE void send(void *context, struct scratch *s)
{
    if (s->wants_base[0] || s->wants_base[1]) {
        tail_call(context, &programs, 0);
        // Only a jump that failed comes here.
        mark(s, 0, MARK_BASE_UNREADABLE);
        mark(s, 1, MARK_BASE_UNREADABLE);
    }
    submit(s);
    release(s);
}

INLINE void send_bare(u32 run, u32 thread, u32 kind)
{
    struct scratch *s = begin(run, thread, kind, 0);
    if (!s)
        return;
    submit(s);
    release(s);
}

// ---- bases ---------------------------------------------------------------------------------------

// Parent and name of a directory, and mostly the name's bytes: they stand together in every kernel so
// far, and one read costs a third of three.
struct near {
    struct dentry *parent;
    u32 hash, length;
    const unsigned char *name;
    void *inode;
    u64 text[5];
};
#define NEAR(field) ((u32)__builtin_offsetof(struct near, field))
#define DISTANCE(field) ((u32)(OFFSET(dentry, field) - OFFSET(dentry, d_parent)))

INLINE void read_near(struct near *near, struct dentry *dentry)
{
    if (DISTANCE(d_name.len) == NEAR(length) && DISTANCE(d_name.name) == NEAR(name)) {
        read_kernel(near, sizeof(*near), &dentry->d_parent);
        return;
    }
    // A kernel with its structures shuffled.
    READ(near->parent, &dentry->d_parent);
    READ(near->name, &dentry->d_name.name);
    near->length = NAME_LIMIT;
}

INLINE long append_name(struct scratch *s, const struct near *near, struct dentry *dentry)
{
    u8 *to = &s->record.data[s->end & (DATA_LIMIT - 1)];
    u32 length = near->length;
    if ((u64)near->name != (u64)&dentry->d_parent + NEAR(text) || length >= sizeof(near->text))
        return read_kernel_str(to, NAME_LIMIT, near->name);
    // By words, not by bytes; what follows the name is overwritten by the next one.
    u64 *words = (u64 *)to;
    for (u32 i = 0; i < 5; i++)
        words[i] = near->text[i];
    // Stands there already, unless the directory is being renamed.
    to[length & 63] = 0;
    return length + 1;
}

// Appends the names from `s->dentry` on `s->mount` outwards up to the task's root. Returns marks.
//
// All state of the loop is in memory, where the verifier does not follow it: so it meets every round
// in one state, and loading takes half the time.
SHARED u32 append_names(u32 from)
{
    struct scratch *s = this_scratch();
    if (!s)
        return MARK_BASE_UNREADABLE;
    struct dentry *top = 0;
    void *hashed = 0;
    struct dentry *first = s->dentry;

    if (READ(top, &((struct vfsmount *)s->mount)->mnt_root) || READ(hashed, &first->d_hash.pprev))
        return MARK_BASE_UNREADABLE;
    s->marks = hashed || first == top ? 0 : MARK_BASE_DELETED;
    s->top = top;
    s->end = from;

    for (u32 depth = 0; depth < DEPTH_LIMIT; depth++) {
        struct vfsmount *mounted = s->mount;
        struct dentry *dentry = s->dentry;
        struct dentry *parent = 0;

        if (dentry == s->root_dentry && mounted == s->root_mount)
            return s->marks;
        if (dentry == s->top) {
            struct mount *own = (void *)mounted - OFFSET(mount, mnt);
            struct mount *outer = 0;
            READ(outer, &own->mnt_parent);
            // The outermost mount without having met the task's root.
            if (outer == own)
                return MARK_BASE_DETACHED;
            READ(parent, &own->mnt_mountpoint);
            s->mount = &outer->mnt;
            READ(top, &outer->mnt.mnt_root);
            s->top = top;
        } else {
            struct near near;
            read_near(&near, dentry);
            parent = near.parent;
            if (parent == dentry)
                return MARK_BASE_DETACHED;
            long length = append_name(s, &near, dentry);
            if (length < 0)
                return MARK_BASE_UNREADABLE;
            s->end += length;
            if (s->end - from > PATH_LIMIT - NAME_LIMIT)
                return MARK_BASE_LONG;
        }
        // What cannot be read reads as zero.
        if (!parent || !top)
            return MARK_BASE_UNREADABLE;
        s->dentry = parent;
    }
    return MARK_BASE_LONG;
}

#define AT_FDCWD (-100)
// Our own: the program that the task runs.
#define PROGRAM_FILE (-1000)

// A pointer in the task itself is read like any other memory of the kernel. By a plain load, which the verifier follows, it
// would look through the names of all types of the kernel four times, to find out whether what is pointed to stays there:
// some milliseconds for each place.
SHARED u64 file_address(s32 descriptor)
{
    struct task_struct *task = current_task();
    struct files_struct *files = 0;
    struct fdtable *table = 0;
    struct file **slots = 0;
    u32 most = 0;
    u64 file = 0;
    if (READ(files, &task->files) || !files || READ(table, &files->fdt) || !table)
        return 0;
    if (READ(most, &table->max_fds) || descriptor < 0 || (u32)descriptor >= most)
        return 0;
    if (!READ(slots, &table->fd) && slots)
        READ(file, slots + descriptor);
    return file;
}

INLINE struct file *file_of(s32 descriptor)
{
    return (struct file *)file_address(descriptor);
}

INLINE u64 inode_of(s32 descriptor)
{
    struct file *file = file_of(descriptor);
    u64 inode = 0;
    if (file)
        READ(inode, &file->f_inode);
    return inode;
}

#define BYTE(n) s->head[(n) & 63]
#define IS(n, a, b, c) (BYTE(n) == (a) && BYTE((n) + 1) == (b) && BYTE((n) + 2) == (c))
#define NO_LINK (-1)

// The decimal number at `at` of the head: its end in the upper half, its value (or NO_LINK where
// there is no digit) in the lower.
SHARED u64 decimal(u32 at)
{
    struct scratch *s = this_scratch();
    u32 number = 0, i;
    if (!s)
        return (u32)NO_LINK;
    for (i = 0; i < 7; i++) {
        u8 digit = BYTE(at + i);
        if (digit < '0' || digit > '9')
            break;
        number = number * 10 + (digit - '0');
    }
    return (u64)(at + i) << 32 | (i ? number : (u32)NO_LINK);
}

// Which of its own things the task names by a path like /proc/self/fd/3, /proc/7/cwd or /dev/stdin:
// a descriptor, AT_FDCWD, PROGRAM_FILE or NO_LINK. Only the task itself can tell where these lead.
SHARED s32 own_link(u64 address)
{
    struct scratch *s = this_scratch();
    if (!s)
        return NO_LINK;
    struct {
        u32 pid;
        u32 tgid;
    } inside = {};
    u32 at;
    read_user_str(s->head, 48, (void *)address);
    if (IS(0, '/', 'd', 'e') && IS(2, 'e', 'v', '/')) {
        if (IS(5, 'f', 'd', '/'))
            return (s32)decimal(8);
        if (IS(5, 's', 't', 'd'))
            return BYTE(8) == 'i' ? 0 : BYTE(8) == 'o' ? 1 : BYTE(8) == 'e' ? 2 : NO_LINK;
        return NO_LINK;
    }
    if (!IS(0, '/', 'p', 'r') || !IS(3, 'o', 'c', '/'))
        return NO_LINK;
    ns_current_pid_tgid(PID_NAMESPACE_DEVICE, PID_NAMESPACE_INODE, &inside, sizeof(inside));
    if (IS(6, 's', 'e', 'l') && BYTE(9) == 'f') {
        at = 10;
    } else if (IS(6, 't', 'h', 'r') && IS(14, 'e', 'l', 'f')) {
        at = 17;
    } else {
        u64 found = decimal(6);
        u32 process = (u32)found;
        at = found >> 32;
        if (!process || (process != inside.tgid && process != inside.pid))
            return NO_LINK;
    }
    if (IS(at, '/', 't', 'a') && IS(at + 3, 's', 'k', '/')) {
        u64 found = decimal(at + 6);
        u32 thread = (u32)found;
        at = found >> 32;
        if (!thread || (thread != inside.tgid && thread != inside.pid))
            return NO_LINK;
    }
    if (BYTE(at) != '/')
        return NO_LINK;
    if (IS(at + 1, 'c', 'w', 'd'))
        return AT_FDCWD;
    if (IS(at + 1, 'e', 'x', 'e'))
        return PROGRAM_FILE;
    return IS(at + 1, 'f', 'd', '/') ? (s32)decimal(at + 4) : NO_LINK;
}

// Begins the walk at a directory: there, on its mount.
INLINE u32 begin_at(struct scratch *s, struct path *path)
{
    void *mounted = 0, *dentry = 0;
    u32 failed = !path || READ(mounted, &path->mnt) || READ(dentry, &path->dentry);
    s->mount = mounted;
    s->dentry = dentry;
    return failed;
}

// Adds the base of path `which`: the directory that a descriptor or AT_FDCWD names.
SHARED u32 add_base(u32 which)
{
    struct scratch *s = this_scratch();
    struct task_struct *task = current_task();
    struct fs_struct *fs = 0;
    struct file *file = 0;
    if (!s || which > 1)
        return MARK_BASE_UNREADABLE;
    s32 descriptor = s->base_descriptor[which];
    u32 from = s->used;
    u32 marks = 0;

    if (READ(fs, &task->fs) || !fs)
        return MARK_BASE_UNREADABLE;
    if (s->link_address[which]) {
        descriptor = own_link(s->link_address[which]);
        if (descriptor == NO_LINK)
            return 0;
        marks = MARK_OWN_LINK;
    }
    if (begin_at(s, &fs->root))
        return MARK_BASE_UNREADABLE;
    s->root_mount = s->mount;
    s->root_dentry = s->dentry;
    if (descriptor == PROGRAM_FILE) {
        struct mm_struct *memory = 0;
        if (READ(memory, &task->mm) || !memory || READ(file, &memory->exe_file))
            return MARK_BASE_UNREADABLE;
    } else if (descriptor != AT_FDCWD) {
        file = file_of(descriptor);
    }
    if (descriptor != AT_FDCWD && !file)
        return MARK_BASE_UNREADABLE;
    if (begin_at(s, descriptor == AT_FDCWD ? &fs->pwd : &file->f_path))
        return MARK_BASE_UNREADABLE;
    s->end = from;
    marks |= append_names(from);
    s->record.base_length[which] = s->end - from;
    s->used = s->end;
    return marks;
}

// Where `send` jumps to. Not attached to anything.
SEC("raw_tracepoint/finish")
int finish(void *context __attribute__((unused)))
{
    struct scratch *s = this_scratch();
    if (!s)
        return 0;
    if (s->wants_base[0])
        mark(s, 0, add_base(0));
    if (s->wants_base[1])
        mark(s, 1, add_base(1));
    submit(s);
    release(s);
    return 0;
}
