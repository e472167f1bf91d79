/* Every way to make a process or a thread, each reading a file of its own. The program calls itself:
   with an argument it reads the file of that name and ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *self;

static void *in_thread(void *name) {
    open(name, O_RDONLY);
    return NULL;
}

static void *execs(void *name) {
    char *args[] = {self, name, NULL};
    usleep(1000);
    execv(self, args);
    return NULL;
}

static void *sits(void *unused) {
    pause();
    return unused;
}

static void wait_for(pid_t pid) {
    int status;
    if (waitpid(pid, &status, __WALL) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "child %d: status %x\n", pid, status);
        exit(1);
    }
}

static int clone_main(void *name) {
    open(name, O_RDONLY);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        open(argv[1], O_RDONLY);
        return 0;
    }
    self = realpath(argv[0], NULL);
    pid_t pid = fork();
    if (pid == 0) {
        open("by-fork", O_RDONLY);
        _exit(0);
    }
    wait_for(pid);
    pid = vfork();
    if (pid == 0) {
        execl(self, self, "by-vfork", NULL);
        _exit(1);
    }
    wait_for(pid);
    char *spawned[] = {self, "by-posix-spawn", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 7, "by-file-action", O_CREAT | O_WRONLY, 0600);
    posix_spawn(&pid, self, &actions, NULL, spawned, environ);
    wait_for(pid);
    struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (unsigned long)&(int){0}, .exit_signal = SIGCHLD};
    pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        open("by-clone3", O_RDONLY);
        _exit(0);
    }
    wait_for(pid);
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* Shares memory and descriptors and ends without a signal. */
    wait_for(clone(clone_main, stack + 65536, CLONE_VM | CLONE_FILES | CLONE_FS, "by-clone"));
    if ((pid = fork()) == 0) {
        /* A grandchild that outlives its parent. */
        if (fork() == 0) {
            usleep(20000);
            open("by-orphan", O_RDONLY);
            _exit(0);
        }
        _exit(0);
    }
    wait_for(pid);

    pthread_t threads[8];
    static char names[8][32];
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "by-thread-%d", i);
        pthread_create(&threads[i], NULL, in_thread, names[i]);
    }
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);

    if ((pid = fork()) == 0) {
        int fd = open(self, O_PATH | O_CLOEXEC);
        char *words[] = {self, "by-execveat", NULL};
        syscall(SYS_execveat, fd, "", words, environ, AT_EMPTY_PATH);
        _exit(1);
    }
    wait_for(pid);
    if ((pid = fork()) == 0) {
        char *words[] = {self, "by-fexecve", NULL};
        fexecve(open(self, O_RDONLY | O_CLOEXEC), words, environ);
        _exit(1);
    }
    wait_for(pid);
    if ((pid = fork()) == 0) {
        execl("/nowhere/program", "program", NULL);
        execlp("no-such-program", "no-such-program", NULL);
        _exit(0);
    }
    wait_for(pid);
    if ((pid = fork()) == 0) {
        /* The whole process becomes another program by a thread that is not its first; others sit
           in calls meanwhile. */
        pthread_create(&threads[1], NULL, in_thread, "beside-exec");
        pthread_join(threads[1], NULL);
        pthread_create(&threads[1], NULL, sits, NULL);
        pthread_create(&threads[0], NULL, execs, "by-thread-exec");
        pause();
    }
    wait_for(pid);
    if ((pid = fork()) == 0) {
        /* The first thread ends before the others. */
        pthread_create(&threads[0], NULL, execs, "by-last-thread");
        syscall(SYS_exit, 0);
    }
    wait_for(pid);
    return 0;
}
