/* Blocks are kept in a table without any allocation of its own, so that looking for leaks by malloc's figures stays possible, and
 * searched from its end: what was allocated last is mostly released first. */
#include "device/resource.h"

#include "device/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 4096 /* live at once */, FAILURE_MAX = 512 };
static const size_t ARENA_ALIGNMENT = 256; /* as cudaMalloc's */
static const size_t MALLOC_SLACK = 64;     /* a small overrun must not damage the heap before the guarded call reports it */

typedef enum Kind { KIND_MALLOC, KIND_DEVICE, KIND_POOL, KIND_ARENA } Kind;
typedef enum State { BLOCK_RELEASED, BLOCK_LIVE, BLOCK_HANDED_OVER } State;
typedef enum Origin { FROM_MALLOC, FROM_DEVICE, FROM_POOL, FROM_ARENA, FROM_GUARDS } Origin;

typedef struct Block {
    void *pointer;
    size_t bytes;
    size_t offset; /* in the arena, or in the arena there would have been */
    State state;
    Origin origin;
    Buffer buffer; /* if FROM_GUARDS */
} Block;

struct Resource {
    VariantMemory memory; /* first: a VariantMemory that we handed out is a Resource */
    const Device *device;
    Kind kind;
    bool guarded;
    ResourceCounts counts;
    void *pool;
    void *arena;
    size_t arena_bytes, arena_top, arena_needed;
    Status failure; /* of release(), which cannot return it */
    char failure_text[FAILURE_MAX];
    int block_count;
    Block blocks[BLOCKS_MAX];
};

static void note_failure(Resource *resource, Status status) {
    if (resource->failure != STATUS_OK || status == STATUS_OK) return;
    resource->failure = status;
    snprintf(resource->failure_text, sizeof resource->failure_text, "%s", status_message());
}

static size_t aligned(size_t bytes) {
    return (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

/* Newest first: an address can come again after its release. */
static Block *find(Resource *resource, const void *pointer) {
    for (int i = resource->block_count; i-- > 0;)
        if (resource->blocks[i].pointer == pointer) return &resource->blocks[i];
    return NULL;
}

/* Room for one more; those released are forgotten when the table is full. NULL: all are live. */
static Block *new_block(Resource *resource) {
    if (resource->block_count == BLOCKS_MAX) {
        int kept = 0;
        for (int i = 0; i < BLOCKS_MAX; i++)
            if (resource->blocks[i].state != BLOCK_RELEASED) resource->blocks[kept++] = resource->blocks[i];
        resource->block_count = kept;
    }
    return resource->block_count < BLOCKS_MAX ? &resource->blocks[resource->block_count] : NULL;
}

static Status take_guarded(Resource *resource, size_t bytes, Block *block) {
    char name[48];
    snprintf(name, sizeof name, "a block of %zu bytes", bytes);
    const Array shape = array_1d(name, DTYPE_U8, bytes);
    TRY(buffer_create(resource->device, &shape, &block->buffer));
    block->origin = FROM_GUARDS;
    block->pointer = block->buffer.array.data;
    return buffer_poison(&block->buffer);
}

static Status take(Resource *resource, size_t bytes, void *stream, Block *block) {
    if (resource->guarded) return take_guarded(resource, bytes, block);
    if (resource->kind == KIND_ARENA && resource->arena && block->offset + aligned(bytes) <= resource->arena_bytes) {
        block->origin = FROM_ARENA;
        block->pointer = (unsigned char *)resource->arena + block->offset;
        return STATUS_OK;
    }
    block->origin = resource->kind == KIND_POOL ? FROM_POOL : resource->kind == KIND_MALLOC ? FROM_MALLOC : FROM_DEVICE;
    if (block->origin == FROM_POOL) return pool_allocate(resource->pool, bytes, stream, &block->pointer);
    if (block->origin == FROM_DEVICE) return resource->device->allocate(bytes, &block->pointer);
    block->pointer = malloc(bytes + MALLOC_SLACK);
    return block->pointer ? STATUS_OK : status_fail(STATUS_MEMORY, "no host memory for %zu bytes", bytes);
}

static Status allocate(VariantMemory *memory, size_t bytes, void *stream, void **out) {
    Resource *resource = (Resource *)memory;
    *out = NULL;
    if (bytes == 0) return STATUS_OK;
    Block *block = new_block(resource);
    if (!block) return status_fail(STATUS_MEMORY, "more than %d blocks are allocated at once", BLOCKS_MAX);
    *block = (Block){.bytes = bytes, .offset = resource->arena_top};
    const Status taken = take(resource, bytes, stream, block);
    if (taken != STATUS_OK) {
        if (block->origin == FROM_GUARDS) buffer_destroy(&block->buffer);
        return taken;
    }
    block->state = BLOCK_LIVE;
    resource->block_count++;
    resource->arena_top += aligned(bytes);
    if (resource->arena_top > resource->arena_needed) resource->arena_needed = resource->arena_top;
    ResourceCounts *counts = &resource->counts;
    counts->allocations++;
    counts->live_bytes += bytes;
    if (counts->live_bytes > counts->peak_bytes) counts->peak_bytes = counts->live_bytes;
    *out = block->pointer;
    return STATUS_OK;
}

/* The block goes back to where it came from. An arena's is free again once nothing above it is live. */
static Status give_back(Resource *resource, Block *block, void *stream) {
    block->state = BLOCK_RELEASED;
    resource->counts.live_bytes -= block->bytes;
    if (resource->kind == KIND_ARENA) {
        resource->arena_top = 0;
        for (int i = 0; i < resource->block_count; i++) {
            const Block *other = &resource->blocks[i];
            const size_t end = other->offset + aligned(other->bytes);
            if (other->state != BLOCK_RELEASED && end > resource->arena_top) resource->arena_top = end;
        }
    }
    switch (block->origin) {
    case FROM_MALLOC:
        free(block->pointer);
        break;
    case FROM_DEVICE:
        resource->device->release(block->pointer);
        break;
    case FROM_POOL:
        return pool_release(block->pointer, stream);
    case FROM_GUARDS:
        buffer_destroy(&block->buffer);
        break;
    case FROM_ARENA:
        break;
    }
    return STATUS_OK;
}

static Status no_block(const Resource *resource, const Block *block, const void *pointer) {
    if (block) return status_fail(STATUS_CHECK, "releases a block of %zu bytes twice", block->bytes);
    for (int i = resource->block_count; i-- > 0;) {
        const Block *b = &resource->blocks[i];
        const uintptr_t at = (uintptr_t)pointer, begin = (uintptr_t)b->pointer;
        if (b->state != BLOCK_RELEASED && at > begin && at - begin < b->bytes)
            return status_fail(STATUS_CHECK, "releases a pointer %zu bytes into a block of %zu bytes", (size_t)(at - begin),
                               b->bytes);
    }
    return status_fail(STATUS_CHECK, "releases a pointer that args->memory did not allocate (an input?)");
}

static void release(VariantMemory *memory, void *pointer, void *stream) {
    Resource *resource = (Resource *)memory;
    if (!pointer) return;
    Block *block = find(resource, pointer);
    if (!block || block->state != BLOCK_LIVE) {
        note_failure(resource, no_block(resource, block, pointer));
        return;
    }
    if (block->origin == FROM_GUARDS) { /* the stream may still be at work on it */
        const Status waited = resource->device->wait("a kernel before a block is released");
        note_failure(resource, waited == STATUS_OK ? buffer_check_guards(&block->buffer) : waited);
    }
    note_failure(resource, give_back(resource, block, stream));
}

Status resource_create(const Device *device, const char *tunable, Resource **out) {
    Resource *resource = calloc(1, sizeof *resource);
    *out = NULL;
    if (!resource) return status_fail(STATUS_MEMORY, "no host memory for a table of %d blocks", BLOCKS_MAX);
    *resource =
        (Resource){.memory = {allocate, release}, .device = device, .kind = KIND_DEVICE, .counts = {.resource = device->kind}};
    if (strcmp(device->kind, "cpu") == 0) {
        resource->kind = KIND_MALLOC;
        resource->counts.resource = "malloc";
    } else if (strcmp(device->kind, "cuda") == 0 && tunable) {
        resource->kind = strcmp(tunable, "pool") == 0 ? KIND_POOL : strcmp(tunable, "arena") == 0 ? KIND_ARENA : KIND_DEVICE;
        resource->counts.resource = tunable;
    }
    const Status status = resource->kind == KIND_POOL ? pool_create(&resource->pool) : STATUS_OK;
    if (status == STATUS_OK)
        *out = resource;
    else
        free(resource);
    return status;
}

static void release_all(Resource *resource) {
    for (int i = 0; i < resource->block_count; i++)
        if (resource->blocks[i].state != BLOCK_RELEASED)
            (void)give_back(resource, &resource->blocks[i], resource->device->stream());
    resource->block_count = 0;
}

void resource_destroy(Resource *resource) {
    if (!resource) return;
    release_all(resource);
    if (resource->arena) resource->device->release(resource->arena);
    pool_destroy(resource->pool);
    free(resource);
}

VariantMemory *resource_memory(Resource *resource) {
    return &resource->memory;
}

static Status grow_arena(Resource *resource) {
    if (resource->kind != KIND_ARENA || resource->arena_needed <= resource->arena_bytes) return STATUS_OK;
    if (resource->arena) resource->device->release(resource->arena);
    resource->arena = NULL;
    resource->arena_bytes = 0;
    const Status status = resource->device->allocate(resource->arena_needed, &resource->arena);
    if (status != STATUS_OK) return status_prefix(status, "memory=arena: ");
    resource->arena_bytes = resource->arena_needed;
    return STATUS_OK;
}

Status resource_begin(Resource *resource, bool guarded) {
    release_all(resource);
    resource->guarded = guarded || strcmp(resource->device->kind, "emulator") == 0;
    resource->counts = (ResourceCounts){.resource = resource->counts.resource};
    resource->arena_top = 0;
    resource->failure = STATUS_OK;
    return resource->guarded ? STATUS_OK : grow_arena(resource);
}

Status resource_hand_over(Resource *resource, const Array *output) {
    char shape[96];
    array_describe(output, shape, sizeof shape);
    const size_t bytes = array_bytes(output);
    if (!output->data && bytes > 0)
        return status_fail(STATUS_CHECK, "output %s %s: run() set elements but no data", output->name, shape);
    if (!output->data) return STATUS_OK;
    Block *block = find(resource, output->data);
    if (!block)
        return status_fail(STATUS_CHECK, "output %s %s: its data is not the start of a block that args->memory allocated",
                           output->name, shape);
    if (block->state != BLOCK_LIVE)
        return status_fail(STATUS_CHECK, "output %s %s: its block of %zu bytes %s", output->name, shape, block->bytes,
                           block->state == BLOCK_RELEASED ? "was released" : "is another output's too");
    if (bytes > block->bytes)
        return status_fail(STATUS_CHECK, "output %s %s: larger than its block of %zu bytes", output->name, shape, block->bytes);
    block->state = BLOCK_HANDED_OVER;
    if (block->origin != FROM_GUARDS) return STATUS_OK;
    /* From now on its guards report the output's name and elements; the block may be larger than the output. */
    void *data = block->buffer.array.data;
    block->buffer.array = array_1d(output->name, output->dtype, block->bytes / dtype_size(output->dtype));
    block->buffer.array.data = data;
    return buffer_check_guards(&block->buffer);
}

Status resource_end(Resource *resource) {
    size_t leaked = 0, leaked_bytes = 0;
    if (resource->failure != STATUS_OK) return status_fail(resource->failure, "%s", resource->failure_text);
    for (int i = 0; i < resource->block_count; i++) {
        const Block *block = &resource->blocks[i];
        if (block->state != BLOCK_RELEASED && block->origin == FROM_GUARDS) TRY(buffer_check_guards(&block->buffer));
        if (block->state != BLOCK_LIVE) continue;
        leaked++;
        leaked_bytes += block->bytes;
    }
    if (leaked == 0) return STATUS_OK;
    return status_fail(STATUS_CHECK, "leaks %zu block%s of %zu bytes in all: neither released nor returned as an output", leaked,
                       leaked == 1 ? "" : "s", leaked_bytes);
}

ResourceCounts resource_counts(const Resource *resource) {
    return resource->counts;
}

bool resource_is_ordered(const Resource *resource) {
    return resource->kind == KIND_POOL || resource->kind == KIND_ARENA;
}

size_t resource_held_bytes(const Resource *resource) {
    return resource->arena_bytes + pool_held_bytes(resource->pool);
}
