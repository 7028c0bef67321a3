#include "device/own_code.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
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

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0
#endif

enum { RANGES_MAX = 128, OF_X32 = 0x40000000 /* numbers of calls that x86-64 has a second time */ };

typedef struct Range {
    uint64_t begin, end;
} Range;

/* Files that are mapped and cannot be written, neighbours joined; 0: not all are known. */
static size_t mapped(Range ranges[RANGES_MAX]) {
    char line[4352], path[4096], may[8];
    size_t count = 0;
    Range at;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps) && count < RANGES_MAX) {
        const int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %4095s", &at.begin, &at.end, may, path);
        if (fields < 4 || may[1] == 'w' || (*path != '/' && strcmp(path, "[vdso]") != 0)) continue;
        if (count > 0 && ranges[count - 1].end == at.begin)
            ranges[count - 1].end = at.end;
        else
            ranges[count++] = at;
    }
    if (maps) fclose(maps);
    return count < RANGES_MAX ? count : 0;
}

/* ---- The filter. Arguments have 64 bits, in two halves, little-endian; slots and accumulators have 32. */

enum { BEGIN_LOW, BEGIN_HIGH, END_LOW, END_HIGH }; /* slots: of what a call changes, [args[0], args[0] + args[1]) */

#define LOW(i) ((unsigned)offsetof(struct seccomp_data, args[i]))
#define HIGH(i) (LOW(i) + 4)
#define LOAD(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (place))
#define LOAD_SLOT(slot) BPF_STMT(BPF_LD | BPF_MEM, (slot))
#define LOAD_OTHER(slot) BPF_STMT(BPF_LDX | BPF_MEM, (slot))
#define STORE(slot) BPF_STMT(BPF_ST, (slot))
#define ADD_OTHER BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0)
#define IF(test, value, then, otherwise) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (then), (otherwise)) /* steps skipped */
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static const struct sock_filter BEGIN[] = {
    LOAD((unsigned)offsetof(struct seccomp_data, arch)),
    IF(BPF_JEQ, OWN_ARCHITECTURE, 0, 12), /* else ALLOW: a 32-bit call does not reach this program */
    LOAD((unsigned)offsetof(struct seccomp_data, nr)),
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
    REFUSE,
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
        REFUSE,
    };
    memcpy(out, steps, sizeof steps);
}

bool own_code_keep(void) {
    static Range ranges[RANGES_MAX];
    static struct sock_filter steps[STEPS_MAX];
#ifdef __SANITIZE_ADDRESS__
    return false; /* its search for leaks traces this process */
#endif
    const size_t count = getenv("LD_PRELOAD") ? 0 : mapped(ranges);
    if (OWN_ARCHITECTURE == 0 || count == 0) return false;
    memcpy(steps, BEGIN, sizeof BEGIN);
    for (size_t i = 0; i < count; i++) refuse_range(&ranges[i], steps + BEGIN_STEPS + i * RANGE_STEPS);
    const size_t length = BEGIN_STEPS + count * RANGE_STEPS;
    steps[length] = (struct sock_filter)ALLOW;
    const struct sock_fprog filter = {(unsigned short)(length + 1), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0; /* CUDA has threads already */
}
