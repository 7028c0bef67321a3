/* In the emulator all of it is in one header. */
#include <cooperative_groups.h>
