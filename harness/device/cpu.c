/* The host as a device: allocations lie between inaccessible pages, so that an overrun that leaps over the guard words dies at once
 * with words that say where. */
#include "device/device.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "base/shares.h"
#include "base/vary.h"

#include <errno.h>
#include <malloc.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Which array a variant overran when it touched forbidden memory. */

/* An allocation: [begin, end), within address space that is its own. */
typedef struct CpuBlock {
    const unsigned char *from, *to, *begin, *end;
} CpuBlock;

enum { BLOCKS_MAX = 256 /* further ones have no names */, NAME_MAX_BYTES = 32, STACK_BYTES = 64 << 10 };

typedef struct Watched {
    const void *pointer; /* NULL: free */
    CpuBlock block;
    char name[NAME_MAX_BYTES];
} Watched;

static Watched watched[BLOCKS_MAX];
static struct sigaction previous[2]; /* of SIGSEGV and SIGBUS: a sanitizer's */
static struct sigaction handlers[NSIG];

static Watched *find(const void *pointer) {
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (watched[i].pointer == pointer) return &watched[i];
    return NULL;
}

static void fault_watch(const void *pointer, const CpuBlock *block) {
    Watched *w = find(NULL);
    if (w) *w = (Watched){.pointer = pointer, .block = *block};
}

/* As Device.describe. */
static void fault_describe(void *pointer, const char *name, const void *payload, size_t bytes) {
    Watched *w = find(pointer);
    if (!w) return;
    snprintf(w->name, sizeof w->name, "%s", name);
    w->block.begin = payload;
    w->block.end = w->block.begin + bytes;
}

static void fault_forget(const void *pointer) {
    Watched *w = find(pointer);
    if (w) *w = (Watched){.pointer = NULL};
}

/* "wrote", "read"; "touched" where the processor does not say which. */
static const char *access_of(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
    (void)context;
    return "touched";
#endif
}

static void explain(const Watched *w, const unsigned char *at, const char *access) {
    char text[200];
    const CpuBlock *b = &w->block;
    const size_t bytes = (size_t)(b->end - b->begin);
    int length;
    if (at < b->begin)
        length = snprintf(text, sizeof text, "rungs-worker: %s %zu bytes before the start of %s, which has %zu bytes\n", access,
                          (size_t)(b->begin - at), w->name, bytes);
    else if (at >= b->end)
        length = snprintf(text, sizeof text, "rungs-worker: %s %zu bytes past the end of %s, which has %zu bytes\n", access,
                          (size_t)(at - b->end), w->name, bytes);
    else
        length = snprintf(text, sizeof text, "rungs-worker: %s to input %s, byte %zu of %zu\n", access, w->name,
                          (size_t)(at - b->begin), bytes);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return; /* stderr is closed */
}

static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (watched[i].pointer && watched[i].name[0] && at >= watched[i].block.from && at < watched[i].block.to)
            explain(&watched[i], at, access_of(context));
    sigaction(number, &previous[number == SIGBUS], NULL); /* the instruction faults again, as if we had never been here */
}

/* From now on a SIGSEGV or SIGBUS in or beside a watched block is explained on stderr, on a line that begins with "rungs-worker: ".
 * The process ends by the signal as it would have. */
static void fault_explain(void) {
    static char stack[STACK_BYTES]; /* the fault may be an overflow of the other one */
    static bool explains;
    if (explains) return;
    explains = true;
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t present;
    if (sigaltstack(NULL, &present) == 0 && present.ss_flags & SS_DISABLE) sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, &previous[0]);
    sigaction(SIGBUS, &action, &previous[1]);
    sigaction(SIGSEGV, NULL, &handlers[SIGSEGV]);
    sigaction(SIGBUS, NULL, &handlers[SIGBUS]);
}

void handlers_remember(void) {
    for (int number = 1; number < NSIG; number++) (void)sigaction(number, NULL, &handlers[number]);
}

Status handlers_check(void) {
    for (int number = 1; number < NSIG; number++) {
        struct sigaction now;
        if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) continue;
        if (now.sa_sigaction != handlers[number].sa_sigaction)
            return status_fail(STATUS_CHECK, "handles signal %d (%s): what a handler does may lie outside of every sample", number,
                               strsignal(number));
    }
    return STATUS_OK;
}

/* ---- Memory. */

static const size_t ALIGNMENT = 256;
static const size_t HUGE_FROM = (size_t)4 << 20; /* as NumPy does: below this huge pages do not pay */

/* What an index off by a factor or a stride reaches: address space costs nothing. */
static const size_t FENCE_LEAST = (size_t)16 << 20;

/* Mapping: inaccessible pages, of which the last keeps this for release(); the data pages; inaccessible pages. The block ends where
 * the data pages end. */
typedef struct Header {
    unsigned char *mapping;
    size_t mapped_bytes, data_bytes;
} Header;

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static Status cpu_open(int index) {
    (void)index; /* of a GPU */
    fault_explain();
    return STATUS_OK;
}

static void cpu_close(void) {}

static Status out_of_memory(size_t bytes, size_t available) {
    return status_fail(STATUS_MEMORY, "no host memory for %zu bytes; %zu bytes are available", bytes, available);
}

static unsigned char *reserve(size_t bytes) {
    void *mapping = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

static Status cpu_allocate(size_t bytes, void **out) {
    *out = NULL;
    const size_t page = page_bytes(), available = hostmemory_available_bytes();
    /* Linux hands out more than it has and kills later; a refusal now can be a row with a reason. */
    if (bytes > SIZE_MAX / 2 || (available && bytes > available)) return out_of_memory(bytes, available);
    const size_t block = round_up(bytes ? bytes : 1, ALIGNMENT), data = round_up(block, page);
    size_t fence = data > FENCE_LEAST ? data : FENCE_LEAST;
    unsigned char *mapping = reserve(data + 2 * fence);
    if (!mapping) mapping = reserve(data + 2 * (fence = page)); /* under a limit of address space (ulimit -v) */
    if (!mapping) return out_of_memory(bytes, available);
    unsigned char *begin = mapping + fence, *header = begin - page;
    if (mprotect(header, page + data, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, data + 2 * fence);
        return out_of_memory(bytes, available);
    }
    *(Header *)(void *)header = (Header){.mapping = mapping, .mapped_bytes = data + 2 * fence, .data_bytes = data};
    (void)mprotect(header, page, PROT_NONE);
    if (data >= HUGE_FROM) (void)madvise(begin, data, MADV_HUGEPAGE); /* a hint; refusal only costs speed */
    *out = begin + data - block;
    fault_watch(*out, &(CpuBlock){.from = mapping, .to = begin + data + fence, .begin = *out, .end = *out + bytes});
    return STATUS_OK;
}

/* The header page, readable; the data pages begin after it. */
static const Header *header_of(void *pointer) {
    const size_t page = page_bytes();
    unsigned char *header = (unsigned char *)pointer - (uintptr_t)pointer % page - page;
    return mprotect(header, page, PROT_READ) == 0 ? (const Header *)(void *)header : NULL;
}

static void cpu_release(void *pointer) {
    const Header *header = pointer ? header_of(pointer) : NULL;
    if (!header) return;
    fault_forget(pointer);
    munmap(header->mapping, header->mapped_bytes);
}

static Status cpu_vary(const Vary *how, DType dtype, size_t n, const void *a, const void *b, void *to) {
    vary_all(how, dtype, n, a, b, to);
    return STATUS_OK;
}

static Status cpu_protect(void *pointer, bool read_only) {
    const size_t page = page_bytes();
    const Header *header = header_of(pointer);
    if (!header) return status_fail(STATUS_IO, "mprotect refused a page");
    unsigned char *page_of_header = (unsigned char *)(uintptr_t)header;
    const size_t data = header->data_bytes;
    if (mprotect(page_of_header, page, PROT_NONE) != 0 ||
        mprotect(page_of_header + page, data, read_only ? PROT_READ : PROT_READ | PROT_WRITE) != 0)
        return status_fail(STATUS_IO, "mprotect refused %zu bytes", data);
    return STATUS_OK;
}

typedef struct Bytes {
    unsigned char *to;
    const unsigned char *from;
    atomic_bool unreadable;
} Bytes;

static Status cpu_copy(void *to, const void *from, size_t bytes) {
    bytes_copy(to, from, bytes);
    return STATUS_OK;
}

static const size_t READ_LEAST = (size_t)4 << 20; /* by a thread */

/* By the kernel, which reports a page that cannot be read: no handler of a signal computes while we read. */
static void read_share(void *context, size_t begin, size_t end) {
    Bytes *bytes = context;
    while (begin < end) {
        const struct iovec to = {bytes->to + begin, end - begin}, from = {(void *)(uintptr_t)(bytes->from + begin), end - begin};
        const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        if (got <= 0 && errno == EFAULT) bytes->unreadable = true;
        if (got <= 0 && errno != EFAULT) memcpy(to.iov_base, from.iov_base, to.iov_len); /* a container that refuses the call */
        if (got <= 0) return;
        begin += (size_t)got;
    }
}

static Status cpu_copy_out(void *to, const void *from, size_t bytes) {
    Bytes task = {.to = to, .from = from};
    shares_run(bytes, READ_LEAST, read_share, &task);
    return task.unreadable ? status_fail(STATUS_CHECK, "pages of an array were made inaccessible") : STATUS_OK;
}

static Status cpu_fill(void *device, unsigned char byte, size_t bytes) {
    bytes_fill(device, byte, bytes);
    return STATUS_OK;
}

static Status cpu_wait(const char *what) {
    (void)what;
    return STATUS_OK;
}

/* What malloc has handed out, in all its arenas; our own blocks are mapped apart and do not count. */
static size_t cpu_in_use(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void *cpu_stream(void) {
    return NULL;
}

const Device *device_cpu(void) {
    static const Device device = {
        .kind = "cpu",
        .timed = true,
        .open = cpu_open,
        .close = cpu_close,
        .allocate = cpu_allocate,
        .release = cpu_release,
        .copy_in = cpu_copy,
        .copy_out = cpu_copy_out,
        .fill = cpu_fill,
        .copy = cpu_copy,
        .wait = cpu_wait,
        .stream = cpu_stream,
        .in_use = cpu_in_use,
        .granularity = 4096,
        .describe = fault_describe,
        .vary = cpu_vary,
        .protect = cpu_protect,
    };
    return &device;
}

/* The program itself has no emulator; the emulator's executables define their own device_emulator(), which outweighs this one. */
__attribute__((weak)) const Device *device_emulator(void) {
    return NULL;
}

/* ---- Threads. */

enum { SAID_MAX = 400 };

static _Noreturn void try_a_team(const int ends[2]) {
    int threads = 0;
    if (dup2(ends[1], STDERR_FILENO) < 0) _exit(EXIT_FAILURE);
#pragma omp parallel reduction(+ : threads)
    threads++;
    _exit(threads > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static Status refuse(const char *said) {
    said += strspn(said, "\n"); /* libgomp begins with an empty line */
    const int length = (int)strcspn(said, "\n");
    return status_fail(
        STATUS_UNSUPPORTED,
        "no team of %d threads can be started (%.*s); raise the limits of processes and of memory (ulimit -u, -v), or set "
        "OMP_NUM_THREADS and OMP_STACKSIZE lower",
        omp_get_max_threads(), length, said);
}

/* Has the child started its team? said: its message. */
static bool has_team(pid_t child, int from, char said[SAID_MAX]) {
    size_t used = 0;
    for (ssize_t got = 1; got != 0 && used < SAID_MAX - 1;) {
        got = read(from, said + used, SAID_MAX - 1 - used);
        if (got > 0) used += (size_t)got;
        if (got < 0 && errno != EINTR) break;
    }
    said[used] = '\0';
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (used == 0) snprintf(said, SAID_MAX, "the attempt ended without a word");
    return WIFEXITED(ended) && WEXITSTATUS(ended) == EXIT_SUCCESS;
}

/* Then a team in a child would wait for ever for threads that fork() did not copy. */
static bool has_threads(void) {
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3; /* 2, and one for each */
}

Status threads_check(void) {
    static bool done;
    int ends[2];
    char said[SAID_MAX];
    if (done || has_threads()) return STATUS_OK;
    if (pipe(ends) != 0) return status_fail(STATUS_IO, "no pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) try_a_team(ends);
    const int error = errno;
    close(ends[1]);
    const bool good = child > 0 && has_team(child, ends[0], said);
    close(ends[0]);
    if (child < 0) return refuse(strerror(error));
    done = good;
    return good ? STATUS_OK : refuse(said);
}
