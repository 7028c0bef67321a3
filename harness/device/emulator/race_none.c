#include "device/emulator/race.h"
void race_launch_start(void) {}
void race_launch_finish(void) {}
void race_block_start(Block *block) {
    (void)block;
}
void race_block_finish(Block *block) {
    (void)block;
}
void race_block_barrier(Block *block) {
    (void)block;
}
void race_warp_sync(Block *block, unsigned first_thread, unsigned lanes) {
    (void)block;
    (void)first_thread;
    (void)lanes;
}
void race_thread_ended(Fiber *fiber) {
    (void)fiber;
}
void race_fence(EmulatorScope scope) {
    (void)scope;
}
void race_synchronising_access(const void *address, size_t bytes, EmulatorAccess access, const void *pc, EmulatorSite site) {
    (void)address;
    (void)bytes;
    (void)access;
    (void)pc;
    (void)site;
}
void race_host_wrote(const void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}
void race_host_allocated(const void *address, size_t bytes) {
    (void)address;
    (void)bytes;
}
