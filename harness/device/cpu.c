/* The host as a device: allocations end at an inaccessible page, so that an overrun that leaps over the guard words dies at once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#endif
#include "device/device.h"

#include "base/hostmemory.h"
#include "base/shares.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t ALIGNMENT = 256;
static const size_t HUGE_FROM = (size_t)4 << 20; /* as NumPy does: below this huge pages do not pay */

/* Mapping: one inaccessible page that keeps `size` for release(), the data pages, one inaccessible page. The block ends where the
 * last page begins, up to the alignment. */
typedef struct Header {
    size_t mapped_bytes;
} Header;

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static Status cpu_open(int index) {
    if (index != 0) return status_fail(STATUS_UNSUPPORTED, "CPU device %d: there is only device 0", index);
    return STATUS_OK;
}

static void cpu_close(void) {}

static Status out_of_memory(size_t bytes, size_t available) {
    return status_fail(STATUS_MEMORY, "no host memory for %zu bytes; %zu bytes are available", bytes, available);
}

static Status cpu_allocate(size_t bytes, void **out) {
    *out = NULL;
    const size_t page = page_bytes(), available = hostmemory_available_bytes();
    /* Linux hands out more than it has and kills later; a refusal now can be a row with a reason. */
    if (bytes > SIZE_MAX / 2 || (available && bytes > available)) return out_of_memory(bytes, available);
    const size_t block = round_up(bytes ? bytes : 1, ALIGNMENT), data = round_up(block, page), mapped = data + 2 * page;
    unsigned char *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return out_of_memory(bytes, available);
    if (data >= HUGE_FROM) (void)madvise(mapping + page, data, MADV_HUGEPAGE); /* a hint; refusal only costs speed */
    ((Header *)(void *)mapping)->mapped_bytes = mapped;
    if (mprotect(mapping, page, PROT_NONE) != 0 || mprotect(mapping + page + data, page, PROT_NONE) != 0) {
        munmap(mapping, mapped);
        return status_fail(STATUS_IO, "mprotect refused guard pages around %zu bytes", bytes);
    }
    *out = mapping + page + data - block;
    return STATUS_OK;
}

static void cpu_release(void *pointer) {
    if (!pointer) return;
    const size_t page = page_bytes();
    unsigned char *mapping = (unsigned char *)pointer - (uintptr_t)pointer % page - page;
    if (mprotect(mapping, page, PROT_READ) != 0) return;
    munmap(mapping, ((const Header *)(const void *)mapping)->mapped_bytes);
}

/* Copies and fills by all cores, in contiguous shares: large arrays do not wait for one core, and on machines with several memory
 * nodes the pages lie as a statically scheduled loop over them will want them. */
static const size_t SHARE_LEAST = (size_t)4 << 20;

typedef struct Bytes {
    unsigned char *to;
    const unsigned char *from; /* NULL: filled with `byte` */
    unsigned char byte;
} Bytes;

static void write_share(void *context, size_t begin, size_t end) {
    const Bytes *bytes = context;
    if (bytes->from)
        memcpy(bytes->to + begin, bytes->from + begin, end - begin);
    else
        memset(bytes->to + begin, bytes->byte, end - begin);
}

static Status cpu_copy(void *to, const void *from, size_t bytes) {
    shares_run(bytes, SHARE_LEAST, write_share, &(Bytes){.to = to, .from = from});
    return STATUS_OK;
}

static Status cpu_fill(void *device, unsigned char byte, size_t bytes) {
    shares_run(bytes, SHARE_LEAST, write_share, &(Bytes){.to = device, .byte = byte});
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
        .copy_out = cpu_copy,
        .fill = cpu_fill,
        .wait = cpu_wait,
        .stream = cpu_stream,
        .in_use = cpu_in_use,
    };
    return &device;
}
