/* Says how io_uring_setup went: 0 it works, 1 not implemented, 2 anything else. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    char parameters[120] = {0};
    if (syscall(SYS_io_uring_setup, 4, parameters) >= 0) return 0;
    return errno == ENOSYS ? 1 : 2;
}
