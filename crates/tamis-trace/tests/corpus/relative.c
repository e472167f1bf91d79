/* Names things by directory descriptors, working directories and /proc. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void openat2_flags(int dir, const char *path, unsigned long flags, unsigned long resolve) {
    struct open_how how = {.flags = flags, .resolve = resolve};
    syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* A working directory that belongs to this thread alone. */
static void *wander(void *unused) {
    unshare(CLONE_FS);
    chdir("two");
    open("of-the-thread", O_RDONLY);
    return unused;
}

int main(void) {
    struct stat st;
    struct statx stx;
    char text[4096];
    mkdir("one", 0755);
    mkdir("one/deep", 0755);
    mkdir("two", 0755);
    symlink("one/deep", "shortcut");
    close(open("one/file", O_CREAT | O_WRONLY, 0644));
    int one = open("one", O_RDONLY | O_DIRECTORY);
    int two = open("two", O_PATH);
    close(openat(one, "file", O_RDONLY));
    openat(one, "missing", O_RDONLY);
    openat(two, "../one/./deep//nothing", O_RDONLY);
    openat(one, "/etc/hostname", O_RDONLY);
    openat(99, "no-such-descriptor", O_RDONLY);
    fstatat(one, "", &st, AT_EMPTY_PATH);
    fstatat(one, "", &st, 0);
    fstatat(one, "file", &st, 0);
    statx(two, "absent", AT_SYMLINK_NOFOLLOW, STATX_ALL, &stx);
    faccessat(one, "file", R_OK, AT_EACCESS);
    readlinkat(AT_FDCWD, "shortcut", text, sizeof text);
    renameat(one, "file", two, "file");
    unlinkat(two, "file", 0);
    openat2_flags(one, "deep", O_RDONLY | O_DIRECTORY, 0);
    openat2_flags(one, "../two", O_RDONLY, RESOLVE_BENEATH);
    openat2_flags(one, "absent", O_PATH, RESOLVE_NO_SYMLINKS);

    fchdir(one);
    open("after-fchdir", O_RDONLY);
    chdir("..");
    open("after-chdir", O_RDONLY);
    chdir("shortcut");
    open("behind-the-shortcut", O_RDONLY);
    open("../beside", O_RDONLY);
    chdir("nowhere");
    chdir("../..");

    pthread_t thread;
    pthread_create(&thread, NULL, wander, NULL);
    pthread_join(thread, NULL);
    open("of-the-process", O_RDONLY);

    int file = open("kept", O_CREAT | O_RDWR, 0600);
    write(file, "x", 1);
    snprintf(text, sizeof text, "/proc/self/fd/%d", file);
    open(text, O_RDONLY);
    snprintf(text, sizeof text, "/dev/fd/%d", file);
    open(text, O_RDONLY);
    snprintf(text, sizeof text, "/proc/self/fd/%d/beneath", one);
    open(text, O_RDONLY);
    snprintf(text, sizeof text, "/proc/%d/cwd/by-pid", getpid());
    open(text, O_RDONLY);
    open("/proc/self/cwd/by-self", O_RDONLY);
    open("/proc/self/root/etc/hostname", O_RDONLY);
    open("/proc/thread-self/cwd/by-thread", O_RDONLY);
    snprintf(text, sizeof text, "/proc/self/task/%d/cwd/by-task", getpid());
    open(text, O_RDONLY);
    fchdir(one);

    mkdir("gone", 0755);
    chdir("gone");
    rmdir("../gone");
    open("in-a-removed-directory", O_RDONLY);
    return 0;
}
