/* A call of the 32-bit kind out of a 64-bit program: access("/etc/hostname") by int 0x80. */
#include <string.h>
#include <sys/mman.h>

int main(void) {
#ifdef __x86_64__
    char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    strcpy(low, "/etc/hostname");
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(33), "b"(low), "c"(0) : "memory");
    return result == 0 ? 0 : 1;
#endif
}
