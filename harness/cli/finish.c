#include "cli/finish.h"

#include "base/process.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"

int run_finish(Status status, Progress *progress, const RunSummary *summary, const char *out, const char *go_on) {
    if (interrupt_pending() && !summary->rows_moved) return interrupt_end(progress, summary);
    if (status != STATUS_OK) return cli_fail(status);
    progress_summary(progress, summary, out, go_on);
    if (summary->failed + summary->errors > 0) return EXIT_CHECK;
    if (summary->passed + summary->resumed == 0) return EXIT_NOTHING;
    return EXIT_GOOD;
}
