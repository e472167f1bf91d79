// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the program shares with user space: the table of calls, records, maps.
// The other side is in table.rs, record.rs, object.rs and kernel.rs.

#pragma once

#include "kernel.h"

// What to do with a call. The values are those of `table::RecordKind`.
enum kind {
    NOTHING = 0,
    // One or two paths.
    OPEN,
    OPENAT2,
    STAT,
    CHDIR,
    READ_LINK,
    EXECUTE,
    EXECUTE_AT,
    REMOVE,
    MAKE_DIRECTORY,
    MAKE_NODE,
    RENAME,
    LINK,
    TRUNCATE,
    CHANGE_MODE,
    // An address.
    CONNECT,
    BIND,
    LISTEN,
    SEND_TO,
    SEND_MESSAGE,
    SEND_MESSAGES,
    // Nothing but the fact that it succeeded.
    IO_URING,
    FILE_HANDLE,
    NAMESPACE,
    CLONE,
    CLONE3,
    READ_DESCRIPTOR,
    ASK_TERMINAL,
    // Not a system call: records of our own.
    ADOPTED,
    BASE,
    EXECUTED,
    FOREIGN,
    TREE_GONE,
};

// Argument positions count from 1; 0 is "none" (for a directory: the working directory). A directory
// without a path is a descriptor that is meant itself.
struct call {
    u8 kind;
    u8 directory[2];
    u8 path[2];
    // Sent along as it is (flags).
    u8 argument;
    // The buffer that the call fills, and its size in units of 8 bytes (0: the result says it).
    u8 output;
    u8 output_size;
};

#define CALL_LIMIT 512
// In `directory`: the base was sent when the call started.
#define BASE_SENT 0xff
// In `path`: an empty or missing path means the descriptor itself.
#define OR_DESCRIPTOR 0x80

const volatile struct call CALLS[CALL_LIMIT] = {};
// Where the numbers in `roots` come from.
const volatile u64 PID_NAMESPACE_DEVICE = 0;
const volatile u64 PID_NAMESPACE_INODE = 0;
// How many runs wait for their root to be adopted or watch their standard input. Only then is a read
// of a descriptor of interest.
volatile u32 ATTENTIVE = 0;

// What went wrong with a path; the second path's marks are shifted by 8.
#define MARK_PATH_UNREADABLE 1
#define MARK_PATH_OVERWRITTEN 2
#define MARK_BASE_UNREADABLE 4
#define MARK_BASE_LONG 8
#define MARK_BASE_DELETED 16
#define MARK_BASE_DETACHED 32
#define MARK_MORE_MESSAGES 64
// The base is what the first link of the path into the task's own /proc folder leads to.
#define MARK_OWN_LINK 128

#define PATH_LIMIT 4096
#define NAME_LIMIT 256
// Directories and mounts; each costs the verifier half a millisecond.
#define DEPTH_LIMIT 48
#define ADDRESS_LIMIT 128
// Two paths and two bases. A piece starts below this power of two.
#define DATA_LIMIT 16384

struct record {
    u32 run;
    u32 thread;
    u64 time;
    s64 result;
    u64 argument;
    u32 number;
    u16 kind;
    u16 marks;
    // The pieces of `data`: path, second path, base, second base. A base is the names from the
    // innermost directory outwards, each ended by a zero byte.
    u16 path_length[2];
    u16 base_length[2];
    u8 data[DATA_LIMIT + PATH_LIMIT];
};
#define RECORD_HEAD __builtin_offsetof(struct record, data)

struct scratch {
    // Not 0 while a program on this processor fills it.
    u32 busy;
    // The walk from a directory outwards: where the names end so far, what was found, where it is,
    // where its mount and the task's root begin.
    volatile u32 end;
    volatile u32 marks;
    void *volatile mount;
    void *volatile dentry;
    void *volatile top;
    void *volatile root_mount;
    void *volatile root_dentry;
    // How much of `record.data` is filled, and which bases are still to be added.
    u32 used;
    u32 wants_base[2];
    s32 base_descriptor[2];
    u64 link_address[2];
    u64 arguments[8];
    // The beginning of a path that may lead through /proc.
    u8 head[64];
    struct record record;
};

struct tracked {
    u32 run;
    u8 watch_stdin;
    u8 foreign_reported;
    u16 unused;
    // The inode of the standard input that is watched, as an identity.
    u64 stdin_inode;
};

struct root {
    u32 run;
    u32 watch_stdin;
};

struct run {
    u64 lost;
    s64 live;
};

struct {
    MAP_UINT(type, BPF_MAP_TYPE_HASH);
    MAP_UINT(max_entries, 16384);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct tracked);
} tracked SEC(".maps");

struct {
    MAP_UINT(type, BPF_MAP_TYPE_HASH);
    MAP_UINT(max_entries, 1024);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct root);
} roots SEC(".maps");

struct {
    MAP_UINT(type, BPF_MAP_TYPE_HASH);
    MAP_UINT(max_entries, 1024);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct run);
} runs SEC(".maps");

struct {
    MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_UINT(max_entries, 1);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, struct scratch);
} scratch SEC(".maps");

// `finish` alone.
struct {
    MAP_UINT(type, BPF_MAP_TYPE_PROG_ARRAY);
    MAP_UINT(max_entries, 1);
    MAP_TYPE(key, u32);
    MAP_TYPE(value, u32);
} programs SEC(".maps");

struct {
    MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
    MAP_UINT(max_entries, 16 * 1024 * 1024);
} events SEC(".maps");
