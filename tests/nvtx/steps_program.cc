/* Steps as variants have them: one after the other, one in another, and one that is left by an early return. */
#include "common/steps.cuh"

#include <cstring>

static int step_or_leave(bool leave) {
    StepRange step("outer");
    {
        StepRange inner("sizes");
        if (leave) return 1;
    }
    StepRange inner("write");
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && std::strcmp(argv[1], "unpaired") == 0) /* for the listener's own test */
        (void)nvtxDomainRangePop(step_domain());
    return step_or_leave(false) + step_or_leave(true) == 1 ? 0 : 1;
}
