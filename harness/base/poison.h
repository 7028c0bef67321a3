/* poison.h - what outputs are filled with before a run: as floats an improbable, finite value that no reference has. */
#ifndef RUNGS_BASE_POISON_H
#define RUNGS_BASE_POISON_H

#include <stdint.h>

#define POISON_BYTE 0xA5
#define POISON_U32 UINT32_C(0xA5A5A5A5)         /* as f32: -2.87e-16 */
#define POISON_U64 UINT64_C(0xA5A5A5A5A5A5A5A5) /* as f64: -2.50e-127 */

#endif
