// The one C++ file of the host. Manual time, iterations fixed by the caller: Google Benchmark's own search for an iteration count
// has no wall-clock cap under manual time, and it reports means where we keep every sample.
#include "measure/gbench.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

// The results are in the caller's array; what Google Benchmark would print goes nowhere.
struct SilentReporter : benchmark::BenchmarkReporter {
    bool ReportContext(const Context &) override { return true; }
    void ReportRuns(const std::vector<Run> &) override {}
};

struct Series {
    GbenchSample sample;
    void *context;
    double *seconds;
    size_t taken;
    Status status;
};

void drive(benchmark::State &state, Series &series) {
    for (auto _ : state) {
        double &seconds = series.seconds[series.taken];
        series.status = series.sample(series.context, &seconds);
        if (series.status != STATUS_OK) {
            state.SkipWithError("the sample failed");
            break;
        }
        series.taken++;
        state.SetIterationTime(seconds);
    }
}

} // namespace

extern "C" Status gbench_run(const char *name, size_t iterations, GbenchSample sample, void *context, double *seconds) {
    if (iterations == 0) return STATUS_OK;
    Series series = {sample, context, seconds, 0, STATUS_OK};
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark(name, [&series](benchmark::State &state) { drive(state, series); })
        ->UseManualTime()
        ->Iterations(static_cast<benchmark::IterationCount>(iterations))
        ->Repetitions(1);
    SilentReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter, "all");
    benchmark::ClearRegisteredBenchmarks();
    if (series.status != STATUS_OK) return series.status;
    if (series.taken != iterations)
        return status_fail(STATUS_INTERNAL, "%s: Google Benchmark took %zu of %zu samples", name, series.taken, iterations);
    return STATUS_OK;
}
