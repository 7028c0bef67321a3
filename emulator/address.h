/* address.h - what an address means to the author of a kernel. */
#ifndef RUNGS_EMULATOR_ADDRESS_H
#define RUNGS_EMULATOR_ADDRESS_H

enum { ADDRESS_TEXT_MAX = 640 };

/* "0x7f..: byte 8 past the end of the block's dynamic shared memory (4096 bytes)" */
const char *address_describe(const void *address, char text[ADDRESS_TEXT_MAX]);

#endif
