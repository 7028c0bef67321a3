/* bytes.h - large blocks of memory by all cores, in contiguous shares: they do not wait for one core, and on machines with several
 * memory nodes the pages lie as a statically scheduled loop over them will want them. Blocks do not overlap. */
#pragma once

#include <stddef.h>

void bytes_copy(void *to, const void *from, size_t count);
void bytes_fill(void *to, unsigned char byte, size_t count);
/* Offset of the first byte that differs, or `count`. */
size_t bytes_first_difference(const void *a, const void *b, size_t count);
