/* deeds.h - what the hostile variant does to its process, by name. A static part of cpu_hostile.c, apart for its length. */
#pragma once

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void nothing(void) {}
static void hang(void) {
    for (;;) pause();
}
static void spin(void) {
    for (volatile int forever = 1; forever;) continue;
}

/* Ends that nobody waits for. */
static void be_aborted(void) {
    abort();
}
static void segv(void) {
    volatile char *volatile nowhere = NULL;
    *nowhere = 1;
}
static void bus(void) {
    FILE *empty = tmpfile();
    volatile char *beyond = empty ? mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(empty), 0) : NULL;
    (void)beyond[0];
}
static void ill(void) {
    __builtin_trap();
}
static void fpe(void) {
    raise(SIGFPE);
}
static void exit_0(void) {
    exit(0);
}
static void exit_3(void) {
    exit(3);
}
static void end_at_once(void) {
    _exit(0);
}
static void kill_self(void) {
    raise(SIGKILL);
}
static void kill_group(void) {
    kill(0, SIGKILL);
}
static void replace_program(void) {
    execl("/bin/true", "true", (char *)NULL);
}
static void jump_nowhere(void) {
    jmp_buf place;
    memset(&place, 0x5A, sizeof place);
    longjmp(place, 1);
}
static int deeper(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : deeper(depth + 1) + frame[0];
}
static void overflow_stack(void) {
    (void)deeper(0);
}
static void free_twice(void) {
    char *volatile block = malloc(2000), *volatile again = block;
    free(block);
    free(again);
}
static void free_foreign(void) {
    char block[64];
    char *volatile inside = block + 16;
    free(inside);
}
static void smash_heap(void) {
    volatile size_t *volatile block = malloc(24);
    block[-1] = 0x4141414141414141; /* what malloc knows of it */
    free((void *)(uintptr_t)block);
}
static void *segv_in_thread(void *nowhere) {
    segv();
    return nowhere;
}
static void crash_in_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, segv_in_thread, NULL);
    pthread_join(thread, NULL);
}
static void abort_at_exit(void) {
    atexit(abort);
}
static void hang_at_exit(void) {
    atexit(hang);
}

/* Never again. */
static void stop(void) {
    raise(SIGSTOP);
}
static void hang_deaf(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGTERM, SIG_IGN);
    hang();
}
static void alarm_clock(void) {
    alarm(1);
    hang();
}
static void cpu_limit(void) {
    setrlimit(RLIMIT_CPU, &(struct rlimit){1, 1});
    spin();
}
static void eat_memory(void) {
    for (;;) {
        char *volatile more = malloc((size_t)32 << 20);
        if (!more) abort();
        for (size_t i = 0; i < (size_t)32 << 20; i += 4096) ((volatile char *)more)[i] = 1;
    }
}

/* Replies that are none. */
static int reply_pipe(void) {
    char line[4096];
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t length = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file) fclose(file);
    line[length] = '\0';
    for (const char *word = line; word < line + length; word += strlen(word) + 1)
        if (strcmp(word, "--replies") == 0) return atoi(word + strlen(word) + 1);
    return -1;
}
static void reply(const char *bytes, size_t count) {
    while (count > 0) {
        const ssize_t wrote = write(reply_pipe(), bytes, count);
        if (wrote <= 0) return;
        bytes += wrote, count -= (size_t)wrote;
    }
}
static void reply_garbage(void) {
    reply("\1\2\3 worker says hello\n", 22);
}
static void reply_list(void) {
    reply("[1, 2]\n", 7);
}
static void reply_nul(void) {
    reply("{\"ok\":\0true}\n", 13);
}
static void reply_cut(void) {
    reply("{\"ok\":tr", 8);
    hang();
}
static void reply_forged(void) {
    static const char FORGED[] = "{\"ok\":true,\"seconds\":1e-9}\n";
    reply(FORGED, sizeof FORGED - 1);
}
static void reply_long(size_t count, char with) {
    char *bytes = malloc(count);
    if (!bytes) abort();
    memset(bytes, with, count);
    bytes[count - 1] = '\n';
    reply(bytes, count);
    free(bytes);
}
static void reply_deep(void) {
    reply_long(100000, '[');
}
static void reply_huge(void) {
    reply_long((size_t)65 << 20, 'x');
}
static void print_much(void) {
    for (int i = 0; i < 100000; i++) printf("%0100d\n", i);
    fflush(stdout);
}
static void print_gigabyte(void) {
    static char much[1 << 20];
    memset(much, 'x', sizeof much);
    for (int i = 0; i < 1200; i++) (void)!write(1, much, sizeof much);
    hang();
}
static void close_all(void) {
    for (int fd = 0; fd < 1024; fd++) close(fd);
}
static void close_replies(void) {
    close(reply_pipe());
}
static void write_everywhere(void) {
    for (int fd = 3; fd < 64; fd++)
        if (fd != reply_pipe()) (void)!write(fd, "stray", 5);
}

/* Other processes. */
static void leave_child(void) {
    if (fork() == 0) spin();
}
static void leave_daemon(void) {
    if (fork() > 0) return;
    setsid();
    if (fork() > 0) _exit(0);
    spin();
}
static void leave_and_hang(void) { /* for ends.py */
    leave_daemon();
    hang();
}
static void leave_many(void) {
    for (int i = 0; i < 30; i++) {
        if (fork() > 0) continue;
        setsid();
        signal(SIGTERM, SIG_IGN);
        hang();
    }
}

/* A process that is not what it was. */
static void change_folder(void) {
    (void)!chdir("/");
}
static void remove_folder(void) {
    char folder[4096];
    if (getcwd(folder, sizeof folder)) rmdir(folder);
}
static void small_files(void) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
}
static void few_files(void) {
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
}
static void little_memory(void) {
    setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, 1 << 20});
}
static void block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}
static void change_mask(void) {
    umask(0777);
}
static void round_up(void) {
    fesetround(FE_UPWARD);
}
static void lose_environment(void) {
    clearenv();
}

#define DEEDS_OF(DEED)                                                                                                             \
    DEED(nothing), DEED(hang), DEED(spin), DEED(be_aborted), DEED(segv), DEED(bus), DEED(ill), DEED(fpe), DEED(exit_0),            \
        DEED(exit_3), DEED(end_at_once), DEED(kill_self), DEED(kill_group), DEED(replace_program), DEED(jump_nowhere),             \
        DEED(overflow_stack), DEED(free_twice), DEED(free_foreign), DEED(smash_heap), DEED(crash_in_thread), DEED(abort_at_exit),  \
        DEED(hang_at_exit), DEED(stop), DEED(hang_deaf), DEED(alarm_clock), DEED(cpu_limit), DEED(eat_memory),                     \
        DEED(reply_garbage), DEED(reply_list), DEED(reply_nul), DEED(reply_cut), DEED(reply_forged), DEED(reply_deep),             \
        DEED(reply_huge), DEED(print_much), DEED(print_gigabyte), DEED(close_all), DEED(close_replies), DEED(write_everywhere),    \
        DEED(leave_child), DEED(leave_daemon), DEED(leave_and_hang), DEED(leave_many), DEED(change_folder), DEED(remove_folder),   \
        DEED(small_files), DEED(few_files), DEED(little_memory), DEED(block_signals), DEED(change_mask), DEED(round_up),           \
        DEED(lose_environment)
#define NAME_OF(deed) #deed
#define FUNCTION_OF(deed) deed
/* The last three are false answers of a place, cpu_hostile.c. */
static const char *const DEED_NAMES[] = {DEEDS_OF(NAME_OF), "lie", "refuse", "overflow", NULL};
static void (*const DEEDS[])(void) = {DEEDS_OF(FUNCTION_OF), nothing, nothing, nothing};

/* Before main(), in workers only and where it is asked for. */
__attribute__((constructor)) static void before_main(int argc, char **argv) {
    const char *deed = getenv("RUNGS_HOSTILE_CONSTRUCTOR");
    if (!deed || argc < 2 || strcmp(argv[1], "worker") != 0) return;
    for (int i = 0; DEED_NAMES[i]; i++)
        if (strcmp(deed, DEED_NAMES[i]) == 0) DEEDS[i]();
}
