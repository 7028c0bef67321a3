#include "pipeline/options.h"

RunOptions run_options_default(void) {
    return (RunOptions){
        .timeout_seconds = 120, .min_samples = 9, .max_samples = 101, .seconds_per_mode = 1, .shared_workers = true};
}
