/* poison.h - what outputs are filled with before a run: as floats an improbable, finite value. Where a correct value equals it, the
 * run is repeated with the next pattern: an element that nobody writes equals all of them. */
#ifndef RUNGS_BASE_POISON_H
#define RUNGS_BASE_POISON_H

#include <stdint.h>

#define POISON_BYTE 0xA5 /* as f32 -2.87e-16, as f64 -2.50e-127 */
/* Every byte of a pattern is the same: 5A5A... is 1.5e16 and 1.8e127, C3C3... is -391.5 and -2.9e18. */
enum { POISON_PATTERNS = 3 };
static const unsigned char POISONS[POISON_PATTERNS] = {POISON_BYTE, 0x5A, 0xC3};

#endif
