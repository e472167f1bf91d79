/* Files that get their name last: O_TMPFILE and linkat. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    char path[64];
    int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    if (fd < 0) return 0; /* not on this file system */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    linkat(AT_FDCWD, path, AT_FDCWD, "named-through-proc", AT_SYMLINK_FOLLOW);
    fd = open(".", O_TMPFILE | O_RDWR, 0600);
    linkat(fd, "", AT_FDCWD, "named-by-descriptor", AT_EMPTY_PATH);
    open("named-by-descriptor", O_RDONLY);
    fd = memfd_create("memory", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    open(path, O_RDONLY);
    return 0;
}
