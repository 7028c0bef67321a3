/* place.h - a place in the source as 32 bits, so that every remembered access can have one. */
#ifndef RUNGS_EMULATOR_PLACE_H
#define RUNGS_EMULATOR_PLACE_H

#include "emulator/engine.h"

uint32_t place_of_code(const void *pc);
uint32_t place_of_site(EmulatorSite site);
const char *place_text(uint32_t place, char *text, size_t size);

#endif
