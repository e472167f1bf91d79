/* What could go wrong with a patched C library. The first argument says what to do; the program
   ends with 0 where everything went as it does unwatched. Files are relative to the folder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static struct stat st;

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static void look(const char *format, int a, int b) {
    char name[64];
    struct stat into;
    snprintf(name, sizeof name, format, a, b);
    check(stat(name, &into) == -1 && errno == ENOENT, name);
}

static void wait_for(pid_t pid) {
    int status;
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, "child");
}

/* Far more than fits in the log, without a change in between. */
static void many(void) {
    for (int i = 0; i < 6000; i++) look("many-%d", i, 0);
}

static void *looks(void *number) {
    for (int i = 0; i < 1500; i++) look("thread-%d-%d", (int)(long)number, i);
    return NULL;
}

static void threads(void) {
    pthread_t thread[4];
    for (long i = 0; i < 4; i++) pthread_create(&thread[i], NULL, looks, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

static volatile sig_atomic_t alarms;
static void handler(int signal) {
    int before = errno;
    struct stat into;
    (void)signal;
    stat("in-handler", &into);
    access("/in-handler", F_OK);
    alarms++;
    errno = before;
}

static void signals(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    stack_t small = {.ss_sp = malloc(16384), .ss_size = 16384};
    sigaltstack(&small, NULL);
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000 || alarms < 20; i++) look("outside-%d", i % 3000, 0);
}

/* Many children at once, more than there are rings, each with files of its own. */
static void forks(void) {
    enum { CHILDREN = 180 };
    pid_t child[CHILDREN];
    int go[2];
    char byte;
    check(pipe(go) == 0, "pipe");
    for (int i = 0; i < CHILDREN; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            for (int n = 0; n < 6; n++) look("child-%d-%d", i, n);
            close(go[1]);
            read(go[0], &byte, 1);
            look("child-%d-last", i, 0);
            _exit(0);
        }
    }
    close(go[1]);
    for (int i = 0; i < CHILDREN; i++) wait_for(child[i]);
    /* One after the other: rings are used again. */
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int n = 0; n < 4; n++) look("later-%d-%d", i, n);
            _exit(0);
        }
        wait_for(pid);
    }
}

static void vforks(char *self) {
    mkdir("below", 0777);
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            if (chdir("below") != 0 || stat("of-vforked", &st) == 0) _exit(1);
            char *arguments[] = {self, "one", NULL};
            execv(self, arguments);
            _exit(2);
        }
        wait_for(pid);
        look("of-parent-%d", i, 0);
    }
}

/* Children that are killed at any moment. */
static void kills(void) {
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (int n = 0;; n++) look("killed-%d-%d", i, n % 5000);
        usleep(i * 50);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        look("survivor-%d", i, 0);
    }
}

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* A filter of its own that ends the process at any call that it does not expect. */
static void sandbox(int by_prctl) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_newfstatat), ALLOW(SYS_openat), ALLOW(SYS_access), ALLOW(SYS_write),
        ALLOW(SYS_exit_group), ALLOW(SYS_clone), ALLOW(SYS_wait4), ALLOW(SYS_set_robust_list),
        ALLOW(SYS_close), ALLOW(SYS_execve),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    look("before-the-sandbox", 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_prctl) check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "prctl");
    else check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
    for (int i = 0; i < 20; i++) look("in-sandbox-%d", i, 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 20; i++) look("child-in-sandbox-%d", i, 0);
        _exit(0);
    }
    wait_for(pid);
    char *none[] = {NULL};
    check(execve("/nonexistent", none, none) == -1 && errno == ENOENT, "execve");
    _exit(0);
}

/* Reads and changes in turn, in one process and between two. */
static void order(void) {
    int to[2], back[2];
    char byte = 0, name[64], other[64];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "own-%d", i);
        snprintf(other, sizeof other, "moved-%d", i);
        look("own-%d", i, 0);
        rename(name, other);
    }
    check(pipe(to) == 0 && pipe(back) == 0, "pipes");
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 200; i++) {
            read(to[0], &byte, 1);
            snprintf(name, sizeof name, "theirs-%d", i);
            rename(name, "/nonexistent/x");
            write(back[1], &byte, 1);
        }
        _exit(0);
    }
    for (int i = 0; i < 200; i++) {
        look("theirs-%d", i, 0);
        write(to[1], &byte, 1);
        read(back[0], &byte, 1);
        look("theirs-%d", i, 0);
    }
    wait_for(pid);
}

static void *opens(void *fifo) {
    open(fifo, O_RDONLY);
    return NULL;
}

static void cancels(void) {
    pthread_t thread;
    void *result;
    mkfifo("fifo", 0600);
    pthread_create(&thread, NULL, opens, "fifo");
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    check(result == PTHREAD_CANCELED, "cancelled");
    look("after-the-cancel", 0, 0);
}

/* Everything that a patched call must leave alone. */
static void registers(void) {
    char link[16] = "untouched.....";
    check(readlink("no-link", link, sizeof link) == -1 && errno == ENOENT, "readlink");
    check(!strcmp(link, "untouched....."), "buffer");
    check(stat((char *)8, &st) == -1 && errno == EFAULT, "bad pointer");
    check(access("", F_OK) == -1 && errno == ENOENT, "empty path");
    check(fstat(0, &st) == 0, "fstat");
    check(fstat(1000, &st) == -1 && errno == EBADF, "fstat of nothing");
    check(fstatat(1000, "x", &st, 0) == -1 && errno == EBADF, "bad descriptor");
    check(openat(AT_FDCWD, "no-file", O_RDONLY) == -1 && errno == ENOENT, "openat");
    double sums[8] = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5}, sum = 0;
    for (int i = 0; i < 800; i++) {
        sum += sums[i % 8];
        access("floating", F_OK);
    }
    check(sum == 4000, "floating point");
    syscall(SYS_close_range, 3, ~0u, 0);
    look("all-closed", 0, 0);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "one")) look("one", 0, 0);
    else if (!strcmp(what, "many")) many();
    else if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "signals")) signals();
    else if (!strcmp(what, "forks")) forks();
    else if (!strcmp(what, "vforks")) vforks(argv[0]);
    else if (!strcmp(what, "kills")) kills();
    else if (!strcmp(what, "sandbox")) sandbox(0);
    else if (!strcmp(what, "sandbox-by-prctl")) sandbox(1);
    else if (!strcmp(what, "order")) order();
    else if (!strcmp(what, "cancels")) cancels();
    else if (!strcmp(what, "registers")) registers();
    else if (!strcmp(what, "dlopen")) check(dlopen("./absent.so", RTLD_NOW) == NULL, "dlopen");
    else if (!strcmp(what, "environment"))
        for (char **variable = environ; *variable; variable++) puts(*variable);
    else return 2;
    return 0;
}
