/* syncvar.h - what atomic and volatile writes carry to those who read them: one record for each such address. */
#ifndef RUNGS_EMULATOR_SYNCVAR_H
#define RUNGS_EMULATOR_SYNCVAR_H

#include "emulator/knowledge.h"

typedef struct SyncVar {
    uintptr_t key;         /* address, and for shared memory the block; 0: an unused place */
    uint32_t block;        /* who wrote last: what it carries at block scope is for that block alone */
    Knowledge *carried[2]; /* by EmulatorScope */
} SyncVar;

/* NULL if there is none and `make` is false. */
SyncVar *syncvar_at(const void *address, bool make);
void syncvar_forget_all(void);

#endif
