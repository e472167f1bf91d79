/* Calls that strace or the kernel may not know yet; the attempt counts. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    char buffer[64] = {0};
    syscall(452 /* fchmodat2 */, AT_FDCWD, "/recent/fchmodat2", 0600, 0);
    syscall(463 /* setxattrat */, AT_FDCWD, "/recent/setxattrat", 0, "user.x", buffer, 16);
    syscall(464 /* getxattrat */, AT_FDCWD, "/recent/getxattrat", 0, "user.x", buffer, 16);
    syscall(465 /* listxattrat */, AT_FDCWD, "/recent/listxattrat", 0, buffer, 16);
    syscall(466 /* removexattrat */, AT_FDCWD, "/recent/removexattrat", 0, "user.x");
    syscall(468 /* file_getattr */, AT_FDCWD, "/recent/file_getattr", buffer, 16, 0);
    syscall(469 /* file_setattr */, AT_FDCWD, "/recent/file_setattr", buffer, 16, 0);
    return 0;
}
