/* Reads a file; built with the address sanitizer. */
#include <stdio.h>

int main(void) {
    FILE *file = fopen("/etc/hostname", "r");
    return file ? fclose(file) : 1;
}
