// The one C++ file of the host.
#include "cli/gbench.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

// Libraries before 1.8 have no skip that is not an error.
template <class State> void skip(State &state, const std::string &why) {
    if constexpr (requires { state.SkipWithMessage(why); })
        state.SkipWithMessage("cannot run: " + why);
    else
        state.SkipWithError(("cannot run: " + why).c_str());
}

template <class State> void add_counters(State &state, const GbenchTimes &times) {
    if (times.bytes > 0) state.SetBytesProcessed(static_cast<int64_t>(times.bytes * static_cast<double>(state.iterations())));
    if (!std::isnan(times.limit_share)) state.counters["limit_share"] = times.limit_share;
    if (!std::isnan(times.error_over_bound)) state.counters["error_over_bound"] = times.error_over_bound;
}

void drive(benchmark::State &state, GbenchTake take, void *context) {
    GbenchTimes times = {};
    const size_t iterations = static_cast<size_t>(state.max_iterations);
    take(context, iterations, &times);
    if (times.failed) {
        state.SkipWithError(times.failed);
    } else if (times.skipped) {
        skip(state, times.skipped);
    } else {
        size_t done = 0;
        for (auto _ : state) state.SetIterationTime(times.seconds[done++ * times.count / iterations]);
        add_counters(state, times);
    }
}

bool inside;
int code_of_usage;

// It ends the process itself, with 0 or 1, for a flag's value that it cannot use: a format, a file.
void end_with_usage() {
    if (!inside) return;
    std::fflush(nullptr);
    _exit(code_of_usage);
}

} // namespace

extern "C" bool gbench_begin(int argc, char **argv, int usage_code) {
    code_of_usage = usage_code;
    inside = true;
    std::atexit(end_with_usage);
    benchmark::Initialize(&argc, argv);
    inside = false;
    return !benchmark::ReportUnrecognizedArguments(argc, argv);
}

extern "C" void gbench_report(const char *key, const char *value) {
    benchmark::AddCustomContext(key, value);
}

extern "C" void gbench_add(const char *name, size_t iterations, GbenchTake take, void *context) {
    auto *added = benchmark::RegisterBenchmark(name, [take, context](benchmark::State &state) { drive(state, take, context); });
    added->UseManualTime();
    if (iterations > 0) added->Iterations(static_cast<benchmark::IterationCount>(iterations));
}

extern "C" size_t gbench_run(void) {
    inside = true;
    const size_t matched = benchmark::RunSpecifiedBenchmarks();
    inside = false;
    benchmark::Shutdown();
    return matched;
}

extern "C" void gbench_help(void) {
    benchmark::PrintDefaultHelp();
}
