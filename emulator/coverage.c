/* -fsanitize-coverage=trace-pc calls this at every basic block of a kernel: the places where a thread can be preempted. */
#include "emulator/fiber.h"

void __sanitizer_cov_trace_pc(void) {
    if (--emulator_countdown <= 0) schedule_preempt(__builtin_return_address(0));
}
