/* Makes, renames, links, changes and removes names. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static void touch(const char *name) { close(open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644)); }

int main(void) {
    struct stat st;
    struct statfs fs;
    char text[4096];
    touch("a");
    close(creat("made", 0600));
    close(open("a", O_RDWR | O_APPEND));
    open("a", O_CREAT | O_EXCL | O_WRONLY, 0600);
    rename("a", "b");
    rename("missing", "b");
    touch("c");
    syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "c", 2 /* exchange */);
    syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "c", 1 /* no replace: fails */);
    link("b", "d");
    linkat(AT_FDCWD, "b", AT_FDCWD, "e", 0);
    symlink("l2", "l1");
    symlink("l3", "l2");
    symlinkat("b", AT_FDCWD, "l3");
    symlink("loop", "loop");
    open("loop", O_RDONLY);
    open("l1", O_RDONLY | O_NOFOLLOW);
    close(open("l1", O_RDONLY));
    linkat(AT_FDCWD, "l1", AT_FDCWD, "followed", AT_SYMLINK_FOLLOW);
    readlink("l1", text, sizeof text);
    readlink("b", text, sizeof text);
    stat("l1", &st);
    lstat("l1", &st);
    fstatat(AT_FDCWD, "l1", &st, AT_SYMLINK_NOFOLLOW);
    syscall(SYS_stat, "l2", &st);
    syscall(SYS_lstat, "l2", &st);
    access("b", R_OK);
    euidaccess("b", W_OK);
    mkdir("dir", 0755);
    mkdir("dir", 0755);
    mkdirat(AT_FDCWD, "dir/sub", 0755);
    mkfifo("fifo", 0600);
    mknodat(AT_FDCWD, "dir/fifo", S_IFIFO | 0600, 0);
    truncate("b", 10);
    chmod("b", 0600);
    fchmodat(AT_FDCWD, "b", 0644, 0);
    int fd = open("c", O_RDONLY);
    fchmod(fd, 0640);
    fchown(fd, -1, -1);
    close(fd);
    chown("b", -1, -1);
    lchown("l1", -1, -1);
    utimensat(AT_FDCWD, "b", NULL, 0);
    utimensat(AT_FDCWD, "l1", NULL, AT_SYMLINK_NOFOLLOW);
    utimes("b", NULL);
    utime("b", NULL);
    setxattr("b", "user.x", "y", 1, 0);
    getxattr("b", "user.x", text, sizeof text);
    lgetxattr("l1", "user.x", text, sizeof text);
    listxattr("b", text, sizeof text);
    removexattr("b", "user.x");
    statfs("dir", &fs);
    DIR *dir = opendir("dir");
    while (readdir(dir)) {}
    closedir(dir);
    rmdir("dir");
    unlink("dir/fifo");
    unlinkat(AT_FDCWD, "dir/sub", AT_REMOVEDIR);
    remove("dir");
    unlink("nothing");
    unlink("d");
    return 0;
}
