#include "device/emulator/address.h"

#include "device/emulator/arena.h"
#include "device/emulator/shared.h"
#include "device/emulator/symbol.h"

#include <stdio.h>

/* Static variables end with red zones or with each other: name the nearest one below. */
static bool describe_static(const unsigned char *address, char *text) {
    char name[384];
    size_t offset, bytes;
    if (!shared_is_static(address)) return false;
    if (symbol_variable(address, name, sizeof name, &offset, &bytes)) {
        snprintf(text, ADDRESS_TEXT_MAX, "byte %zu of the __shared__ variable %s (%zu bytes)", offset, name, bytes);
        return true;
    }
    for (size_t distance = 1; distance <= 4096; distance++) {
        if (!symbol_variable(address - distance, name, sizeof name, &offset, &bytes)) continue;
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes past the end of the __shared__ variable %s (%zu bytes)", distance - 1, name,
                 bytes);
        return true;
    }
    snprintf(text, ADDRESS_TEXT_MAX, "an address between __shared__ variables");
    return true;
}

static bool describe_dynamic(const unsigned char *address, char *text) {
    const Block *block = shared_dynamic_owner(address);
    if (!block) return false;
    const size_t bytes = engine.launch ? engine.launch->shared_bytes : 0;
    if (!block->shared || !engine.current || block != engine.current->block) {
        snprintf(text, ADDRESS_TEXT_MAX, "the dynamic shared memory of another block");
        return true;
    }
    if (address < block->shared)
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes before the block's dynamic shared memory (%zu bytes)",
                 (size_t)(block->shared - address), bytes);
    else if (address < block->shared + bytes)
        snprintf(text, ADDRESS_TEXT_MAX, "byte %zu of the block's dynamic shared memory (%zu bytes)",
                 (size_t)(address - block->shared), bytes);
    else
        snprintf(text, ADDRESS_TEXT_MAX, "%zu bytes past the end of the block's dynamic shared memory (%zu bytes)",
                 (size_t)(address - block->shared) - bytes, bytes);
    return true;
}

const char *address_describe(const void *address, char text[ADDRESS_TEXT_MAX]) {
    if (describe_dynamic(address, text) || describe_static(address, text) || arena_describe(address, text, ADDRESS_TEXT_MAX))
        return text;
    snprintf(text, ADDRESS_TEXT_MAX, "address %p, which is not device memory", address);
    return text;
}
