/* memory.h - device memory, shared memory, the device's heap and the emulator's only stream. */
#pragma once

#include "emulator/fiber.h"

/* Device memory: one reserved range of addresses, so that an address alone tells whether it is the device's. Freed memory is never
 * handed out again, so that a late access is found. */
Status arena_allocate(size_t bytes, void **out);
/* STATUS_INVALID if it is not the start of a live allocation. */
Status arena_release(void *pointer);
size_t arena_in_use(void);
/* What reports call it. */
void arena_name(const void *pointer, const char *name);
/* Host code may touch this allocation, too: managed and pinned memory. */
void arena_share(void *pointer);

/* Device memory is out of bounds for the host but while this is open. Nests. */
void arena_open(void);
void arena_close(void);

bool arena_contains(const void *address);
/* The reserved range, and how much of it was ever handed out. */
unsigned char *arena_begin(void);
size_t arena_reserved(void);
size_t arena_handed_out(void);
/* What one may touch of the live allocation that holds the address, which is all but its guards; false if there is none. */
bool arena_range(const void *address, const unsigned char **begin, size_t *size);
/* Are all these bytes inside such a range? */
bool arena_valid(const void *address, size_t bytes);
/* Bytes that kernels may neither read nor write: the guards around an array. */
void arena_forbid(void *from, size_t bytes);
/* To run a launch again: a copy of all contents, those contents again, the copy's end. */
void arena_keep(void);
void arena_bring_back(void);
void arena_let_go(void);
bool arena_describe(const void *address, char *text, size_t size);

/* The device's own heap: malloc() and free() in kernels. What is freed is not handed out again until all is freed and another
 * kernel begins, so that a late access is found. */
size_t heap_limit(void);
/* False once the heap is in use, as on the device. */
bool heap_set_limit(size_t bytes);
void heap_launch_start(void);
/* Bytes that kernels allocated and did not free. */
size_t heap_in_use(void);

/* What kernels' object files have in place of malloc() and free(): between launches they are the host's own. */
void *emulator_malloc(size_t bytes);
void emulator_free(void *pointer);

/* Of device memory, to those who watch it: its contents are undefined; somebody wrote them. */
void memory_unset(const void *address, size_t bytes);
void memory_set(const void *address, size_t bytes);

/* Shared memory: dynamic, allocated to the byte for each block; static, one place that resident blocks take turns in. */
/* Finds the __shared__ variables of the launch's source file. */
void shared_launch_start(const EmulatorLaunch *launch);
void shared_launch_finish(void);
void shared_block_start(Block *block);
void shared_block_finish(Block *block);
/* Puts the __shared__ variables of `to` in place of those of `from` (either may be NULL). */
void shared_change_block(Block *from, Block *to);

/* Is the address within a static __shared__ variable's section / within a resident block's dynamic memory (whose, then)? */
bool shared_is_static(const void *address);
Block *shared_dynamic_owner(const void *address);
/* The running block is about to touch these bytes of them for the first time. */
void shared_touch(const void *address, size_t bytes);
void shared_static_range(unsigned char **begin, size_t *bytes);

/* Each slot's dynamic memory lies in a region of its own, this many bytes apart. */
enum { SHARED_MAX_BYTES = 227 * 1024, SHARED_SLOT_BYTES = 256 * 1024 };
unsigned char *shared_slots(void);

/* sanitizer.c: the sanitizers' runtimes as weak references, so that the same objects link with and without them. */
/* Around every switch of stacks: AddressSanitizer must know which stack is in use. kept NULL: the stack left is given up. */
void sanitizer_start_switch(void **kept, Stack to);
/* The stack that was left; taken down only the first time, when it is the launcher's. */
void sanitizer_finish_switch(void *kept, Stack *left);

/* A report ends a kernel, and the program only after several (cmake/program.py). */
void sanitizer_watch_program(void);
/* Forbids and allows bytes to instrumented code, to the byte at the upper end. Nothing without AddressSanitizer. */
void sanitizer_forbid(const void *from, size_t bytes);
void sanitizer_allow(const void *from, size_t bytes);
/* The first forbidden byte, or NULL. */
const void *sanitizer_first_forbidden(const void *from, size_t bytes);

/* device.c: the emulator's only stream. */
void *stream_given(void);
/* Work must go to the stream that the variant was given: STATUS_CHECK otherwise. `what` names the call. */
Status stream_check(const void *stream, const char *what);

static inline bool bytes_within(const void *address, size_t bytes, const void *begin, size_t size) {
    const size_t offset = (size_t)((uintptr_t)address - (uintptr_t)begin);
    return offset < size && bytes <= size - offset;
}

/* Copying and filling that no sanitizer sees: the engine moves memory that kernels may not touch (red zones, guards). */
static inline void bytes_copy(void *to, const void *from, size_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline void bytes_fill(void *to, unsigned char byte, size_t bytes) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}
