#include "device/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What headers of Linux 6.1 (Debian 12) lack. */
#define CONFINE_TRUNCATE (UINT64_C(1) << 14) /* LANDLOCK_ACCESS_FS_TRUNCATE, version 3 */
#define CONFINE_SIGNALS (UINT64_C(1) << 1)   /* LANDLOCK_SCOPE_SIGNAL, version 6: to processes that are not confined with it */
enum { WITH_REFER = 2, WITH_TRUNCATE = 3, WITH_SIGNALS = 6 };

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

#if defined(__x86_64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))

/* No user faults: a page that is filled when it is read would be computed outside of every sample. And none of what the kernel
 * keeps when a process has ended: shared memory, semaphores and queues with a number or a name, keys. Best effort. */
static void refuse_calls(void) {
#ifdef CONFINE_ARCHITECTURE
    enum { MAKE_BY_DEVICE = 0xaa00 }; /* USERFAULTFD_IOC_NEW: ioctl() of /dev/userfaultfd */
    struct sock_filter steps[] = {FIELD(arch),
                                  UNLESS(CONFINE_ARCHITECTURE, 12),
                                  FIELD(nr),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 11, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_shmget, 10, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_semget, 9, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_msgget, 8, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mq_open, 7, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_add_key, 6, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_request_key, 5, 0),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 4, 0),
                                  UNLESS(SYS_ioctl, 2),
                                  FIELD(args[1]),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAKE_BY_DEVICE, 1, 0),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)};
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
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
