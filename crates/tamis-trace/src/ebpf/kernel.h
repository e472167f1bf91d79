// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The kernel as the program sees it: helpers, structures, registers.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
// Global functions are verified once, not once per caller.
#define SHARED __attribute__((noinline))

// ---- helpers of the kernel, by their fixed numbers -----------------------------------------------

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const monotonic_ns)(void) = (void *)5;
static long (*const tail_call)(void *context, void *programs, u32 index) = (void *)12;
static u64 (*const current_pid_tgid)(void) = (void *)14;
static long (*const read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*const read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*const read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*const ns_current_pid_tgid)(u64 dev, u64 ino, void *to, u32 size) = (void *)120;
static long (*const ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
// Fields behind this pointer are read by plain loads, which cost far less than `read_kernel`.
static struct task_struct *(*const current_task)(void) = (void *)158;
// The registers of the call that the task is in, likewise (Linux 5.15).
static struct pt_regs *(*const saved_registers)(struct task_struct *task) = (void *)175;

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_PROG_ARRAY 3
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_ANY 0
#define BPF_RB_NO_WAKEUP 1

#define MAP_UINT(name, number) int(*name)[number]
#define MAP_TYPE(name, type) type *name

// ---- the kernel's structures: only the fields that are read, found by name at load time ----------

#define RELOCATED __attribute__((preserve_access_index))

struct vfsmount {
    struct dentry *mnt_root;
} RELOCATED;

struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
} RELOCATED;

struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
} RELOCATED;

struct qstr {
    u32 hash, len;
    const unsigned char *name;
} RELOCATED;

struct hlist_bl_node {
    struct hlist_bl_node **pprev;
} RELOCATED;

struct dentry {
    struct hlist_bl_node d_hash;
    struct dentry *d_parent;
    struct qstr d_name;
} RELOCATED;

struct inode {
    u16 i_mode;
    unsigned long i_ino;
    s64 i_size;
} RELOCATED;

struct file {
    struct path f_path;
    struct inode *f_inode;
    void *private_data;
} RELOCATED;

struct sock_common {
    u32 skc_rcv_saddr;
    u16 skc_num;
    u16 skc_family;
    u8 skc_state;
    struct {
        u8 bytes[16];
    } skc_v6_rcv_saddr;
} RELOCATED;

struct sock {
    struct sock_common __sk_common;
} RELOCATED;

struct socket {
    short type;
    struct sock *sk;
} RELOCATED;

struct fdtable {
    u32 max_fds;
    struct file **fd;
} RELOCATED;

struct files_struct {
    struct fdtable *fdt;
} RELOCATED;

struct fs_struct {
    struct path root;
    struct path pwd;
} RELOCATED;

struct thread_info {
    unsigned long flags;
    u32 status;
} RELOCATED;

struct mm_struct {
    struct file *exe_file;
} RELOCATED;

struct task_struct {
    struct thread_info thread_info;
    s32 pid;
    struct mm_struct *mm;
    struct fs_struct *fs;
    struct files_struct *files;
} RELOCATED;

struct linux_binprm {
    const char *interp;
    const char *filename;
} RELOCATED;

#define READ(to, from) read_kernel(&(to), sizeof(to), (const void *)(from))
#define OFFSET(type, field) __builtin_preserve_field_info(((struct type *)0)->field, 0)

// The number and the arguments of the call that the task is in.
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
    unsigned long r10, r9, r8, dx, si, di, orig_ax;
} RELOCATED;
#define NUMBER(r) ((u32)(r)->orig_ax)
#define ARGUMENTS(to, r)                                                                           \
    ((to)[0] = (r)->di, (to)[1] = (r)->si, (to)[2] = (r)->dx, (to)[3] = (r)->r10,                  \
     (to)[4] = (r)->r8, (to)[5] = (r)->r9)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
    u64 regs[31];
    u64 orig_x0;
    s32 syscallno;
} RELOCATED;
#define NUMBER(r) ((u32)(r)->syscallno)
#define ARGUMENTS(to, r)                                                                           \
    ((to)[0] = (r)->orig_x0, (to)[1] = (r)->regs[1], (to)[2] = (r)->regs[2],                       \
     (to)[3] = (r)->regs[3], (to)[4] = (r)->regs[4], (to)[5] = (r)->regs[5])
#else
#error "no register layout for this machine"
#endif
