#include "device/confine.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What headers of Linux 6.1 (Debian 12) lack. */
#define CONFINE_TRUNCATE (UINT64_C(1) << 14) /* LANDLOCK_ACCESS_FS_TRUNCATE, version 3 */
#define CONFINE_SIGNALS (UINT64_C(1) << 1)   /* LANDLOCK_SCOPE_SIGNAL, version 6: to processes that are not confined with it */
enum { WITH_REFER = 2, WITH_TRUNCATE = 3, WITH_SIGNALS = 6 };

#if defined(__x86_64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define CONFINE_ARCHITECTURE 0
#endif

/* ---- What it may write. */

typedef struct Ruleset { /* struct landlock_ruleset_attr of version 6 */
    uint64_t files, network, scopes;
} Ruleset;

static long version_of_kernel(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool confine_available(void) {
    return version_of_kernel() > 0;
}

const char *confine_shared(void) {
    return getenv("RUNGS_WORKERS_WRITE");
}

/* All that changes files. */
static uint64_t changes(long version) {
    uint64_t files = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                     LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (version >= WITH_REFER) files |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= WITH_TRUNCATE) files |= CONFINE_TRUNCATE;
    return files;
}

/* CUDA does not start if it cannot write there, to give its threads names. Not all of /proc: root could write to /proc/sys. */
static const char OWN_PROCESS[] = "/proc/self";

static bool allow(int rules, const char *folder, uint64_t files) {
    struct landlock_path_beneath_attr beneath = {.allowed_access = files, .parent_fd = open(folder, O_PATH)};
    if (beneath.parent_fd < 0) return errno == ENOENT; /* a machine without /dev/shm */
    const long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    /* The kernel forgets the file of a process's folder, and the rule with it, unless somebody has it open. */
    if (folder != OWN_PROCESS) close(beneath.parent_fd);
    return failed == 0;
}

typedef struct Entry { /* struct linux_dirent64 */
    uint64_t number;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
} Entry;

/* What else is in /dev keeps files that outlive their process (shm, mqueue), or leads out of it (links). */
static bool is_device(const Entry *entry) {
    enum { LINK = 10 }; /* DT_LNK */
    return entry->type != LINK && entry->name[0] != '.' && strcmp(entry->name, "shm") != 0 && strcmp(entry->name, "mqueue") != 0;
}

/* Without the C library's opendir(), which allocates. */
static bool allow_devices(int rules, uint64_t contents) {
    static const char DEVICES[] = "/dev/";
    _Alignas(Entry) char block[4096];
    char path[sizeof DEVICES + NAME_MAX] = "/dev/";
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    bool allowed = folder >= 0;
    for (long bytes; allowed && (bytes = syscall(SYS_getdents64, folder, block, sizeof block)) > 0;) {
        const Entry *entry;
        for (long at = 0; allowed && at < bytes; at += entry->length) {
            entry = (const Entry *)(const void *)(block + at);
            if (!is_device(entry)) continue;
            memcpy(path + sizeof DEVICES - 1, entry->name, strlen(entry->name) + 1);
            allowed = allow(rules, path, contents);
        }
    }
    if (folder >= 0) close(folder);
    return allowed;
}

/* ---- What it may call: filters of seccomp. */

#define LOAD(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (place))
#define FIELD(name) LOAD((unsigned)offsetof(struct seccomp_data, name))
#define IF(test, value, then, otherwise) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (then), (otherwise)) /* steps skipped */
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(why) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (why))

/* No user faults: a page that is filled when it is read would be computed outside of every sample. None of what the kernel keeps
 * when a process has ended: shared memory, semaphores and queues with a number or a name, keys. And no other clock: neither the
 * machine's made slower, nor one of another namespace. Best effort. */
static void refuse_calls(void) {
    enum { MAKE_BY_DEVICE = 0xaa00 }; /* USERFAULTFD_IOC_NEW: ioctl() of /dev/userfaultfd */
    struct sock_filter steps[] = {FIELD(arch),
                                  IF(BPF_JEQ, CONFINE_ARCHITECTURE, 0, 15),
                                  FIELD(nr),
                                  IF(BPF_JEQ, SYS_userfaultfd, 14, 0),
                                  IF(BPF_JEQ, SYS_shmget, 13, 0),
                                  IF(BPF_JEQ, SYS_semget, 12, 0),
                                  IF(BPF_JEQ, SYS_msgget, 11, 0),
                                  IF(BPF_JEQ, SYS_mq_open, 10, 0),
                                  IF(BPF_JEQ, SYS_add_key, 9, 0),
                                  IF(BPF_JEQ, SYS_request_key, 8, 0),
                                  IF(BPF_JEQ, SYS_keyctl, 7, 0),
                                  IF(BPF_JEQ, SYS_adjtimex, 6, 0),
                                  IF(BPF_JEQ, SYS_clock_adjtime, 5, 0),
                                  IF(BPF_JEQ, SYS_setns, 4, 0),
                                  IF(BPF_JEQ, SYS_ioctl, 0, 2),
                                  FIELD(args[1]),
                                  IF(BPF_JEQ, MAKE_BY_DEVICE, 1, 0),
                                  ALLOW,
                                  REFUSE(ENOSYS)};
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

bool confine_self(const char *folder, bool on_gpu) {
    const long version = version_of_kernel();
    refuse_calls();
    if (version <= 0) return true;
    const uint64_t files = changes(version);
    const Ruleset all = {.files = files, .scopes = version >= WITH_SIGNALS ? CONFINE_SIGNALS : 0};
    const size_t size = version >= WITH_SIGNALS ? sizeof all : offsetof(Ruleset, network);
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
    if (rules < 0) return false;
    const uint64_t contents = files & (LANDLOCK_ACCESS_FS_WRITE_FILE | CONFINE_TRUNCATE);
    const bool devices =
        on_gpu ? allow(rules, "/dev/shm", files) && allow(rules, "/dev", contents) && allow(rules, OWN_PROCESS, contents)
               : allow_devices(rules, contents);
    const char *shared = confine_shared();
    const bool confined = devices && (!shared || allow(rules, shared, files)) && (!folder || allow(rules, folder, files)) &&
                          prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    const int why = errno;
    close(rules);
    errno = why;
    return confined;
}

/* ---- Its code. */

enum { RANGES_MAX = 128, OF_X32 = 0x40000000 /* numbers of calls that x86-64 has a second time */ };

typedef struct Range {
    uint64_t begin, end;
} Range;

/* The kernel's clock with its data ([vdso], [vvar]); of a library's worker our code, and what it keeps (measure/kept.h). */
static bool always(const char *path) {
    const char *name = strrchr(path, '/');
    return strncmp(path, "[v", 2) == 0 ||
           (name && (strcmp(name, "/memfd:" PROCESS_KEPT_FILE) == 0 || strcmp(name, "/librungs_measure.so") == 0));
}

/* What is always kept and, if `files`, files that are mapped and cannot be written, neighbours joined; 0: not all are known. */
static size_t mapped(bool files, Range ranges[RANGES_MAX]) {
    char line[4352], path[4096], may[8];
    size_t count = 0;
    Range at;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps) && count < RANGES_MAX) {
        const int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %4095s", &at.begin, &at.end, may, path);
        if (fields < 4 || may[1] == 'w' || !((files && *path == '/') || always(path))) continue;
        if (count > 0 && ranges[count - 1].end == at.begin)
            ranges[count - 1].end = at.end;
        else
            ranges[count++] = at;
    }
    if (maps) fclose(maps);
    return count < RANGES_MAX ? count : 0;
}

/* The filter: arguments have 64 bits, in two halves, little-endian; slots and accumulators have 32. */

enum { BEGIN_LOW, BEGIN_HIGH, END_LOW, END_HIGH }; /* slots: of what a call changes, [args[0], args[0] + args[1]) */

#define LOW(i) ((unsigned)offsetof(struct seccomp_data, args[i]))
#define HIGH(i) (LOW(i) + 4)
#define LOAD_SLOT(slot) BPF_STMT(BPF_LD | BPF_MEM, (slot))
#define LOAD_OTHER(slot) BPF_STMT(BPF_LDX | BPF_MEM, (slot))
#define STORE(slot) BPF_STMT(BPF_ST, (slot))
#define ADD_OTHER BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0)

static const struct sock_filter BEGIN[] = {
    FIELD(arch),
    IF(BPF_JEQ, CONFINE_ARCHITECTURE, 0, 12), /* else ALLOW: a 32-bit call does not reach this program */
    FIELD(nr),
    IF(BPF_JGE, OF_X32, 11, 0), /* REFUSE */
    IF(BPF_JEQ, SYS_ptrace, 10, 0),
    IF(BPF_JEQ, SYS_mprotect, 10, 0), /* the range is looked at */
    IF(BPF_JEQ, SYS_pkey_mprotect, 9, 0),
    IF(BPF_JEQ, SYS_munmap, 8, 0),
    IF(BPF_JEQ, SYS_mmap, 0, 2),
    LOAD(LOW(3)),
    IF(BPF_JSET, MAP_FIXED, 5, 3),
    IF(BPF_JEQ, SYS_mremap, 0, 2),
    LOAD(LOW(3)),
    IF(BPF_JSET, MREMAP_FIXED, 1, 2),
    ALLOW,
    REFUSE(EPERM),
    LOAD(LOW(0)), /* the range */
    STORE(BEGIN_LOW),
    LOAD(HIGH(0)),
    STORE(BEGIN_HIGH),
    LOAD(LOW(1)),
    LOAD_OTHER(BEGIN_LOW),
    ADD_OTHER,
    STORE(END_LOW),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, 0, 3, 0), /* no carry */
    LOAD(HIGH(1)),
    BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1),
    BPF_STMT(BPF_JMP | BPF_JA, 1),
    LOAD(HIGH(1)),
    LOAD_OTHER(BEGIN_HIGH),
    ADD_OTHER,
    STORE(END_HIGH),
};

enum { BEGIN_STEPS = sizeof BEGIN / sizeof *BEGIN, RANGE_STEPS = 11, STEPS_MAX = BEGIN_STEPS + RANGE_STEPS * RANGES_MAX + 1 };

/* Refuses what begins before the range's end and ends behind its begin. */
static void refuse_range(const Range *range, struct sock_filter out[RANGE_STEPS]) {
    const unsigned begin[] = {(unsigned)range->begin, (unsigned)(range->begin >> 32)};
    const unsigned end[] = {(unsigned)range->end, (unsigned)(range->end >> 32)};
    const struct sock_filter steps[RANGE_STEPS] = {
        LOAD_SLOT(BEGIN_HIGH),
        IF(BPF_JGT, end[1], 9, 0),
        IF(BPF_JEQ, end[1], 0, 2),
        LOAD_SLOT(BEGIN_LOW),
        IF(BPF_JGE, end[0], 6, 0),
        LOAD_SLOT(END_HIGH),
        IF(BPF_JGT, begin[1], 3, 0),
        IF(BPF_JEQ, begin[1], 0, 3),
        LOAD_SLOT(END_LOW),
        IF(BPF_JGT, begin[0], 0, 1),
        REFUSE(EPERM),
    };
    memcpy(out, steps, sizeof steps);
}

bool confine_code(bool files) {
    static Range ranges[RANGES_MAX];
    static struct sock_filter steps[STEPS_MAX];
#ifdef __SANITIZE_ADDRESS__
    return false; /* its search for leaks traces this process */
#endif
    const size_t count = getenv("LD_PRELOAD") ? 0 : mapped(files, ranges);
    if (CONFINE_ARCHITECTURE == 0 || count == 0) return false;
    memcpy(steps, BEGIN, sizeof BEGIN);
    for (size_t i = 0; i < count; i++) refuse_range(&ranges[i], steps + BEGIN_STEPS + i * RANGE_STEPS);
    const size_t length = BEGIN_STEPS + count * RANGE_STEPS;
    steps[length] = (struct sock_filter)ALLOW;
    const struct sock_fprog filter = {(unsigned short)(length + 1), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0; /* CUDA has threads already */
}
