/* An open-addressing hash table. Shared memory of different blocks may have one address; the resident slot tells them apart, and as
 * a slot's next block may find records of the one before, keys of shared memory carry the block's number. */
#include "emulator/syncvar.h"

#include "emulator/arena.h"
#include "emulator/fault.h"

#include <stdlib.h>

static SyncVar *table;
static size_t room, used;

static uintptr_t key_of(const void *address) {
    const uintptr_t key = (uintptr_t)address;
    return arena_contains(address) ? key : key ^ ((uintptr_t)(engine.current->block->linear + 1) << 48);
}

static SyncVar *look_up(uintptr_t key) {
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);
    while (table[at].key && table[at].key != key) at = (at + 1) & (room - 1);
    return &table[at];
}

static void grow(void) {
    SyncVar *old = table;
    const size_t old_room = room;
    room = old_room ? 2 * old_room : 1024;
    table = calloc(room, sizeof *table);
    if (!table) fault_internal("no memory for the race detector's atomics");
    for (size_t i = 0; i < old_room; i++)
        if (old[i].key) *look_up(old[i].key) = old[i];
    free(old);
}

SyncVar *syncvar_at(const void *address, bool make) {
    if (2 * used >= room) grow();
    const uintptr_t key = key_of(address);
    SyncVar *var = look_up(key);
    if (var->key) return var;
    if (!make) return NULL;
    used++;
    *var = (SyncVar){.key = key};
    return var;
}

void syncvar_forget_all(void) {
    for (size_t i = 0; i < room; i++)
        for (int scope = 0; scope < 2; scope++) knowledge_drop(&table[i].carried[scope]);
    free(table);
    table = NULL;
    room = used = 0;
}
