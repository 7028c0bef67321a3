/* inject.c - preloaded (LD_PRELOAD): makes the k-th allocation or the k-th write of a program fail.
 *
 *     RUNGS_FAULT=malloc:K    the K-th allocation gives NULL
 *     RUNGS_FAULT=memory:K    the K-th and all later ones
 *     RUNGS_FAULT=write:K     the K-th and all later writes to regular files fail with ENOSPC, as on a full disk
 *     RUNGS_FAULT=named:K     as write:K, on a file system without O_TMPFILE; K=0: no write fails
 *     RUNGS_FAULT=exit        the first fflush() ends the program with exit(1), as a library may end it
 *     RUNGS_FAULT_IN=worker   in processes whose first argument is "worker"; else in the first process alone
 *     RUNGS_FAULT_COUNT=FILE  at exit, how many there were
 *
 * Counting begins in main(): what the loader and constructors take is no code of ours. Environment variables are removed, so that
 * programs which the program starts are as ever. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long allocations, writes;
static long fail_malloc, fail_memory, fail_write; /* 0: none */
static int active, named_only, exits;
static char count_path[512];

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* Is this one to fail? */
static int no_memory(void) {
    if (!active) return 0;
    const long number = atomic_fetch_add(&allocations, 1) + 1;
    if (!(fail_malloc && number == fail_malloc) && !(fail_memory && number >= fail_memory)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) {
    return no_memory() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    return no_memory() ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes) {
    return no_memory() ? NULL : __libc_realloc(block, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    return no_memory() ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
    void *block = no_memory() ? NULL : __libc_memalign(alignment, bytes);
    if (!block) return ENOMEM;
    *out = block;
    return 0;
}

static int is_memory(int fd) {
    char path[64], target[16] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/memfd:", 7) == 0;
}

/* Is this write to fail? Only regular files fill a disk, with a name or without one yet; shared memory is none. */
static int disk_full(int fd) {
    struct stat facts;
    if (!active || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || is_memory(fd)) return 0;
    const long number = atomic_fetch_add(&writes, 1) + 1;
    if (!fail_write || number < fail_write) return 0;
    errno = ENOSPC;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    return disk_full(fd) ? -1 : NEXT(write)(fd, bytes, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return disk_full(fd) ? -1 : NEXT(pwrite)(fd, bytes, count, offset);
}
/* stdio writes by calls inside of libc: it is met where a program asks for it. */
size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    return disk_full(fileno(file)) ? 0 : NEXT(fwrite)(bytes, size, count, file);
}
int fflush(FILE *file) {
    if (active && exits) {
        active = 0;
        exit(1);
    }
    return file && disk_full(fileno(file)) ? EOF : NEXT(fflush)(file);
}
int fclose(FILE *file) {
    const int failed = (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY && disk_full(fileno(file));
    const int closed = NEXT(fclose)(file);
    if (failed) errno = ENOSPC;
    return failed ? EOF : closed;
}

/* Some file systems have only files with names. */
int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | __O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (active && named_only && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return NEXT(open)(path, flags, mode);
}

static void write_counts(void) {
    active = 0;
    FILE *file = fopen(count_path, "w");
    if (!file) return;
    fprintf(file, "%ld %ld\n", (long)allocations, (long)writes);
    fclose(file);
}

static int (*real_main)(int, char **, char **);

static int begin(int argc, char **argv, char **environment) {
    const char *fault = getenv("RUNGS_FAULT"), *place = getenv("RUNGS_FAULT_IN"), *path = getenv("RUNGS_FAULT_COUNT");
    const int in_worker = place && strcmp(place, "worker") == 0, is_worker = argc > 1 && strcmp(argv[1], "worker") == 0;
    if (fault && in_worker == is_worker) {
        sscanf(fault, "malloc:%ld", &fail_malloc);
        sscanf(fault, "memory:%ld", &fail_memory);
        sscanf(fault, "write:%ld", &fail_write);
        exits = strcmp(fault, "exit") == 0;
        named_only = sscanf(fault, "named:%ld", &fail_write) == 1;
        if (path) {
            snprintf(count_path, sizeof count_path, "%s", path);
            atexit(write_counts);
        }
        active = 1;
    }
    if (!in_worker || is_worker) unsetenv("LD_PRELOAD");
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*entry)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    real_main = entry;
    return ((int (*)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *))dlsym(
        RTLD_NEXT, "__libc_start_main"))(begin, argc, argv, init, fini, rtld_fini, stack_end);
}
