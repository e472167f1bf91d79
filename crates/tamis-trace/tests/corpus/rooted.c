/* Opens a path below a root directory of its own: not /etc/hostname. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT};
    syscall(SYS_openat2, open("/tmp", O_PATH), "/etc/hostname", &how, sizeof how);
    return 0;
}
