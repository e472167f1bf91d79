/* Stops, continues and interrupts: a program must not notice that it is watched. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static void count(int signal) { (void)signal; alarms++; }

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static volatile int began;

static void *busy(void *unused) {
    for (;;) {
        access("busy-thread", F_OK);
        began = 1;
    }
    return unused;
}

int main(void) {
    int status;
    struct stat st;
    /* File calls under a rain of signals. */
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 500 || alarms < 5; i++) check(stat("/etc/hostname", &st) == 0, "stat under signals");
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, NULL);

    /* A child of two threads stops as a whole, says so, and goes on. */
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, busy, NULL);
        while (!began) usleep(100);
        raise(SIGSTOP);
        open("after-the-stop", O_RDONLY);
        _exit(7);
    }
    check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "stopped");
    usleep(20000);
    check(waitpid(pid, &status, WNOHANG | WUNTRACED) == 0, "stays stopped");
    kill(pid, SIGCONT);
    check(waitpid(pid, &status, WCONTINUED) == pid && (WIFCONTINUED(status) || WIFEXITED(status)), "continued");
    if (WIFCONTINUED(status)) check(waitpid(pid, &status, 0) == pid, "waited for");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "its own exit code");

    /* Stopped, then killed. */
    pid = fork();
    if (pid == 0) {
        access("to-be-killed", F_OK);
        /* Not SIGTSTP: where nothing could continue the group (a background job), it is ignored. */
        raise(SIGSTOP);
        for (;;) pause();
    }
    check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "stopped again");
    kill(pid, SIGKILL);
    check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed");

    /* A trap of its own is delivered. */
    signal(SIGTRAP, count);
    alarms = 0;
    raise(SIGTRAP);
    check(alarms == 1, "its own trap");
    pid = fork();
    if (pid == 0) abort();
    check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "aborted");
    return 0;
}
