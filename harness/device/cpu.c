/* The host as a device: allocations lie between inaccessible pages, so that an overrun that leaps over the guard words dies at once
 * (device/cpu_fault.h says where). */
#include "device/device.h"

#include "base/memory.h"
#include "base/shares.h"
#include "device/cpu_fault.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
    if (index != 0) return status_fail(STATUS_UNSUPPORTED, "CPU device %d: there is only device 0", index);
    cpufault_explain();
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
    cpufault_watch(*out, &(CpuBlock){.from = mapping, .to = begin + data + fence, .begin = *out, .end = *out + bytes});
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
    cpufault_forget(pointer);
    munmap(header->mapping, header->mapped_bytes);
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
        .granularity = 4096,
        .describe = cpufault_describe,
        .protect = cpu_protect,
    };
    return &device;
}
