/* A library that a user preloads. */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) { access("/of-the-user-s-library", F_OK); }
