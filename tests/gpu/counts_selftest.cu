/* Counting, against what is known: launches, copies and fills; bytes of kernels that move a known number of them.
 *
 *   counts_selftest          the checks
 *   counts_selftest count    our counts of three kernels, one JSON object a line
 *   counts_selftest launch   launches those once each, for another profiler to count (counts_against_ncu.py)
 */
#include "counts_kernels.cuh"
#include "gpu_check.h"
#include "measure/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MIB = (size_t)1 << 20;
static const size_t LARGE = 256 * MIB / sizeof(double), SMALL = 8 * MIB / sizeof(double);
enum { MANY_LAUNCHES = 70 };

struct Contender {
    const char *name;
    Status (*run)(void *context);
};
static const Contender CONTENDERS[] = {{"copy_kernel", run_copy}, {"scan_kernel", run_scan}, {"sum_kernel", run_sum}};

/* 3 kernels, 2 copies, 1 fill. */
static Status run_mixture(void *context) {
    const Arrays *a = static_cast<const Arrays *>(context);
    const cudaStream_t stream = static_cast<cudaStream_t>(a->stream);
    double first = 0;
    TRY(run_copy(context));
    TRY(run_scan(context));
    TRY(run_scan(context));
    TRY_CUDA(cudaMemsetAsync(a->y, 0, MIB, stream));
    TRY_CUDA(cudaMemcpyAsync(a->y, a->x, 2 * MIB, cudaMemcpyDeviceToDevice, stream));
    TRY_CUDA(cudaMemcpyAsync(&first, a->y, sizeof first, cudaMemcpyDeviceToHost, stream));
    return STATUS_OK;
}

static Status run_many(void *context) {
    for (int i = 0; i < MANY_LAUNCHES; i++) TRY(run_fill(context));
    return STATUS_OK;
}

static Status run_nothing(void *context) {
    (void)context;
    return STATUS_OK;
}

static const Activity *find(const ActivityList *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    return nullptr;
}

static void check_kernel(const ActivityList *list, size_t n) {
    const Activity *scan = find(list, "scan_kernel");
    cudaFuncAttributes known = {};
    int blocks = 0;
    cudaDeviceProp device;
    if (!scan || cudaFuncGetAttributes(&known, scan_kernel) != cudaSuccess || cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scan_kernel, THREADS, 0) != cudaSuccess) {
        check(false, "mixture: scan_kernel is in the list", "%.0f", 0, "");
        return;
    }
    const double occupancy = static_cast<double>(blocks) * THREADS / device.maxThreadsPerMultiProcessor;
    /* The record has what a thread is allocated, in steps of 8; the runtime what the compiler needed. */
    check(scan->registers >= known.numRegs && scan->registers < known.numRegs + 8, "scan_kernel: registers", "%.0f",
          scan->registers, "as the runtime tells, rounded up");
    check(scan->shared_bytes == known.sharedSizeBytes, "scan_kernel: shared memory", "%.0f",
          static_cast<double>(scan->shared_bytes), "as the runtime tells");
    check(scan->grid[0] == static_cast<int>(blocks_for(n)) && scan->grid[1] == 1 && scan->block[0] == THREADS &&
              scan->block[2] == 1,
          "scan_kernel: grid and block", "%.0f", scan->grid[0], "as launched");
    check(fabs(scan->occupancy - occupancy) < 1e-9, "scan_kernel: occupancy", "%.3f", scan->occupancy, "as the runtime tells");
}

static void check_activity(Arrays *small) {
    const MeasuredWork mixture = {run_mixture, small}, many = {run_many, small}, nothing = {run_nothing, small};
    ActivityList list = {};
    check_status(counts_activity(&mixture, small->stream, &list), STATUS_OK, "mixture: counted");
    check(activity_count(&list, ACTIVITY_KERNEL) == 3, "mixture: kernels", "%.0f",
          static_cast<double>(activity_count(&list, ACTIVITY_KERNEL)), "3");
    check(activity_count(&list, ACTIVITY_COPY) == 2, "mixture: copies", "%.0f",
          static_cast<double>(activity_count(&list, ACTIVITY_COPY)), "2");
    check(activity_count(&list, ACTIVITY_FILL) == 1, "mixture: fills", "%.0f",
          static_cast<double>(activity_count(&list, ACTIVITY_FILL)), "1");
    KernelGroup groups[4];
    const size_t count = activity_groups(&list, groups, 4);
    check(count == 2 && groups[1].launches == 2, "mixture: kernels by name and configuration", "%.0f", static_cast<double>(count),
          "2");
    check_kernel(&list, small->n);
    activity_free(&list);
    check_status(counts_activity(&many, small->stream, &list), STATUS_OK, "many launches: counted");
    check(activity_count(&list, ACTIVITY_KERNEL) == MANY_LAUNCHES, "many launches", "%.0f",
          static_cast<double>(activity_count(&list, ACTIVITY_KERNEL)), "70");
    activity_free(&list);
    check_status(counts_activity(&nothing, small->stream, &list), STATUS_OK, "nothing: counted");
    check(list.count == 0, "nothing", "%.0f", static_cast<double>(list.count), "0");
    activity_free(&list);
}

struct Expected {
    const char *what;
    Status (*run)(void *context);
    double read, written; /* of the array's bytes */
};

static void check_bytes(Arrays *arrays, double tolerance) {
    static const Expected EXPECTED[] = {{"copy", run_copy, 1, 1},
                                        {"scan that keeps a sixteenth", run_scan, 1, 1.0 / KEPT_EACH},
                                        {"sum", run_sum, 1, 0},
                                        {"fill", run_fill, 0, 1}};
    const double bytes = static_cast<double>(arrays->n * sizeof(double)), slack = tolerance * bytes;
    for (const Expected &e : EXPECTED) {
        char what[96];
        ByteCounts counts = {};
        const MeasuredWork work = {e.run, arrays};
        snprintf(what, sizeof what, "%s of %.0f MiB: counted", e.what, bytes / static_cast<double>(MIB));
        check_status(counts_bytes(&work, arrays->stream, &counts), STATUS_OK, what);
        snprintf(what, sizeof what, "%s of %.0f MiB: MiB read", e.what, bytes / static_cast<double>(MIB));
        check(fabs(counts.read - e.read * bytes) <= slack, what, "%.2f", counts.read / static_cast<double>(MIB),
              "the array, or none");
        snprintf(what, sizeof what, "%s of %.0f MiB: MiB written", e.what, bytes / static_cast<double>(MIB));
        check(fabs(counts.written + counts.written_behind - e.written * bytes) <= slack, what, "%.2f",
              (counts.written + counts.written_behind) / static_cast<double>(MIB), "the array, a part, or none");
        printf("      %.2f MiB of those were written back behind the call; %zu calls\n",
               counts.written_behind / static_cast<double>(MIB), counts.calls);
    }
}

static int self_test(void *stream) {
    Arrays large, small;
    check_status(arrays_open(&large, LARGE, stream), STATUS_OK, "arrays");
    check_status(arrays_open(&small, SMALL, stream), STATUS_OK, "arrays");
    const char *library = nullptr;
    if (counts_library(&library) != STATUS_OK) {
        printf("skipped: %s\n", status_message());
        return 77;
    }
    printf("      %s\n", library);
    check_activity(&small);
    check_status(counts_try_activity(stream), STATUS_OK, "launches can be counted");
    const Status bytes = counts_try_bytes(stream);
    if (bytes == STATUS_UNSUPPORTED) {
        printf("      bytes are not counted here: %s\n", status_message());
    } else {
        check_status(bytes, STATUS_OK, "bytes can be counted");
        check_bytes(&large, 0.05);
        check_bytes(&small, 0.15);
        check_activity(&small); /* once more, behind the other pass */
    }
    arrays_close(&large);
    arrays_close(&small);
    return gpu_check_close();
}

static int print_counts(Arrays *arrays) {
    for (const Contender &contender : CONTENDERS) {
        ByteCounts counts = {};
        const MeasuredWork work = {contender.run, arrays};
        if (counts_bytes(&work, arrays->stream, &counts) != STATUS_OK) {
            fprintf(stderr, "%s\n", status_message());
            return 1;
        }
        printf("{\"kernel\": \"%s\", \"read\": %.0f, \"written\": %.0f, \"written_behind\": %.0f}\n", contender.name, counts.read,
               counts.written, counts.written_behind);
    }
    return 0;
}

static int launch_once(Arrays *arrays) {
    for (const Contender &contender : CONTENDERS) {
        if (contender.run(arrays) != STATUS_OK || cudaDeviceSynchronize() != cudaSuccess) {
            fprintf(stderr, "%s\n", status_message());
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const bool quiet = argc == 2 && (strcmp(argv[1], "count") == 0 || strcmp(argv[1], "launch") == 0);
    if (!quiet) {
        const int refused = gpu_check_open();
        return refused ? refused : self_test(device_cuda()->stream());
    }
    Arrays arrays;
    char why[256] = "";
    if (device_cuda_count(why, sizeof why) == 0) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    if (device_cuda()->open(0) != STATUS_OK || arrays_open(&arrays, LARGE, device_cuda()->stream()) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_message());
        return 1;
    }
    return strcmp(argv[1], "count") == 0 ? print_counts(&arrays) : launch_once(&arrays);
}
