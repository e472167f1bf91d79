/* Names that are hard to write down, and pointers that point nowhere. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    struct stat st;
    const char *names[] = {"with space", "new\nline", "not-utf8-\xff\xfe\x80", "\xc3\xa4", "quote\"s", "back\\slash",
                           "<angle>", " (deleted)", "tab\there", "really (deleted)", "-", "...", "a=b"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        close(open(names[i], O_CREAT | O_RDWR, 0600));
        stat(names[i], &st);
    }
    /* Base directories with such names. */
    mkdir("\xff dir\n (deleted)", 0755);
    int dir = open("\xff dir\n (deleted)", O_RDONLY | O_DIRECTORY);
    openat(dir, "in\xfe", O_CREAT | O_WRONLY, 0600);
    chdir("\xff dir\n (deleted)");
    access("looked\xfdup", F_OK);

    /* As long as the kernel takes, one more, and a component that is too long. */
    char *path = malloc(9000);
    for (int length = 4090; length <= 4100; length++) {
        for (int i = 0; i < length; i++) path[i] = i % 100 ? 'd' : '/';
        path[length] = 0;
        open(path, O_RDONLY);
    }
    memset(path, 'x', 300);
    path[300] = 0;
    open(path, O_RDONLY);
    memset(path, '/', 8000);
    memcpy(path + 4000, "etc/hostname", 13);
    open(path, O_RDONLY);

    /* A string that ends exactly where the mapping ends, and one that does not end. */
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    strcpy(page + 4096 - 5, "edge");
    open(page + 4096 - 5, O_RDONLY);
    memset(page + 4096 - 5, 'n', 5);
    open(page + 4096 - 5, O_RDONLY);
    /* Pointers to nowhere. */
    syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY);
    syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY);
    syscall(SYS_openat, AT_FDCWD, (char *)0xffff800000000000, O_RDONLY);
    syscall(SYS_openat, AT_FDCWD, (char *)0xdead00000000beef, O_RDONLY);
    syscall(SYS_execve, (char *)8, NULL, NULL);
    syscall(SYS_rename, "a=b", (char *)8);
    syscall(SYS_openat2, AT_FDCWD, "how-is-bad", (char *)8, 24);
    open("", O_RDONLY);
    syscall(SYS_statx, AT_FDCWD, NULL, 0, 0, NULL);
    return 0;
}
