/* changes.h - would a result that was kept from other data pass for one on these? */
#pragma once

#include "op.h"

/* Of the elements that were looked at: those that depend on the data (not the same NaN or infinity on both), and those of them in
 * which the kept result is wrong. */
typedef struct Changes {
    size_t wrong, of;
} Changes;

/* Looks at up to 65536 elements, at equal distances. Both functions add to *changes. */
void changes_bounded(const Reference *kept, const Reference *now, size_t count, Changes *changes);
/* For outputs that must be right to the byte. */
void changes_exact(const Array *kept, const Array *now, Changes *changes);
