/* Stands in its own folder of /proc and names its own things from there. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char text[64];
    int file = open("/etc/hostname", O_RDONLY);
    chdir("/proc/self");
    open("cwd/of-proc", O_RDONLY);
    snprintf(text, sizeof text, "fd/%d", file);
    open(text, O_RDONLY);
    return 0;
}
