/* Idea: an element is the map y -> factor y + x; maps compose in any grouping. A thread composes vectors of 16 bytes, a warp scans
 * its lanes, a block its warps, and the block carries the composition from tile to tile along its strip of a row. 256 rows and more
 * have a block each: one launch. Fewer are cut into strips: a first launch composes each strip, a second scans the compositions of
 * each row, a third walks with what precedes its strip. Rows of 32 vectors and less share a tile, separated by maps that drop the
 * carry. Sums of k terms: up to 128, each thread sums its own; above, rows are cut into segments of k, and a sum is what its
 * segment has up to the element, behind the end of the segment before, k - 1 elements away: one scan for the ends, one for the
 * sums.
 * Traffic: 1 read and 1 write of n a row; 2 reads and 1 write where rows are cut into strips. k > 128: 2 reads, 2 writes and a gather.
 * Rounding: float data within a thread in float, between threads in double; powers by squaring; depth about 4 + log2(n), and one for each
 *   tile of a strip.
 * Limits: 2^31 - 1 blocks. k > 128: |gamma|^(k-1) within the range of double. A partial sum beyond the range is an infinity, even if the
 *   whole sum is within it. After a whole sum beyond the range, later sums may be finite, where the recurrence stays infinite.
 * Origin: Blelloch 1990, Prefix sums and their applications (recurrences as scans); k terms: van Herk 1992, Gil and Werman 1993. */
#include "common/discounted_cumsum/case.h"
#include "common/discounted_cumsum/scan.cuh"

/* k terms, few: a thread sums one window from its far end. */
constexpr size_t DIRECT_TERMS_MAX = 128;
constexpr unsigned DIRECT_THREADS = 256;

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(DIRECT_THREADS) direct_kernel(DiscountView<T> view, unsigned terms) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n, column = flat - row * view.n, left = RIGHT ? view.n - 1 - column : column;
    const T common = affine_factor(view.factor(row, flat));
    T sum = 0;
    for (size_t distance = left < terms - 1 ? left : terms - 1;; distance--) {
        const size_t at = RIGHT ? flat + distance : flat - distance;
        const T factor = view.gamma_per == DISCOUNT_GAMMA_ELEMENT ? affine_factor(view.gamma[at]) : common;
        sum = view.reset && view.reset[at] ? view.x[at] : factor * sum + view.x[at];
        if (distance == 0) break;
    }
    view.y[flat] = sum;
}

namespace { /* a type of this variant alone */
/* Maps composed in the order opposite to that of the scan: the ends of segments are scanned against the direction of the sums. */
struct AgainstScan {
    Affine<double> map;

    __device__ void merge(const AgainstScan &other) {
        Affine<double> all = other.map;
        all.merge(map);
        map = all;
    }
};
template <bool UP> __device__ AgainstScan shuffle(const AgainstScan &a, unsigned distance) {
    return {shuffle<UP>(a.map, distance)};
}
__device__ AgainstScan shuffle_from(const AgainstScan &a, unsigned lane) {
    return {shuffle_from(a.map, lane)};
}
} // namespace

/* k terms, many: ends[i] is the sum that element i and the rest of its segment pass on to what follows the segment. */
template <typename T, bool BACKWARD, unsigned VECTORS, bool WRITE>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    ends_kernel(DiscountReader<T, BACKWARD> reader, ScanShape shape, AgainstScan *maps, T *ends) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ AgainstScan totals[2][SCAN_THREADS_MAX / WARP];
    const ScanStrip strip = scan_strip(shape, WRITE);
    AgainstScan carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    reader.begin(strip.line);
    DiscountItems<T> now[VECTORS], next[VECTORS];
    load_tile(reader, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        AgainstScan before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            AgainstScan own, total;
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) own.merge({{(double)now[v].factor[k], (double)now[v].x[k]}});
            const AgainstScan lanes = warp_scan_maps(own, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(reader, tile + 1, next);
        const AgainstScan outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                AgainstScan all = outer;
                all.merge(before[v]);
                T out[LENGTH];
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    all.merge({{(double)now[v].factor[k], (double)now[v].x[k]}});
                    out[k] = (T)all.map.b;
                }
                reader.line.store(ends, reader.line.first(scan_position<VECTORS, LENGTH>(tile, v)), reader.packed, out);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
}

/* k terms, many: the sum of the element's own segment up to it, behind the end that its window has of the segment before. */
template <typename T, bool RIGHT, unsigned VECTORS, bool WRITE>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    windows_kernel(DiscountReader<T, RIGHT> reader, ScanShape shape, Affine<double> *maps, const T *ends) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ Affine<double> totals[2][SCAN_THREADS_MAX / WARP];
    const ScanStrip strip = scan_strip(shape, WRITE);
    Affine<double> carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    reader.begin(strip.line);
    const bool follows = strip.line % reader.lines.segments() > 0; /* a segment of the same row */
    DiscountItems<T> now[VECTORS], next[VECTORS];
    load_tile(reader, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        Affine<double> before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            Affine<double> own, total;
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) own.merge({(double)now[v].factor[k], (double)now[v].x[k]});
            const Affine<double> lanes = warp_scan_maps(own, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(reader, tile + 1, next);
        const Affine<double> outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                const long long low = reader.line.first(scan_position<VECTORS, LENGTH>(tile, v)),
                                terms = (long long)reader.lines.segment;
                Affine<double> all = outer;
                all.merge(before[v]);
                T out[LENGTH];
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    all.merge({(double)now[v].factor[k], (double)now[v].x[k]});
                    const long long flat = reader.line.at(low, k);
                    const long long done =
                        RIGHT ? reader.line.end - flat : flat - reader.line.begin + 1; /* terms of the own segment */
                    const bool reaches = follows && done < terms && reader.line.holds(flat);
                    out[k] = (T)(reaches ? all.of((double)ends[RIGHT ? flat + terms - 1 : flat - terms + 1]) : all.b);
                }
                reader.line.store(reader.view.y, low, reader.packed, out);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
}

/* How a case is cut; scratch is the ends of segments (k > 128), then the maps of strips. */
struct Plan {
    DiscountLines lines;
    ScanShape shape;
    bool uniform; /* a row to a line and a factor to a row */
    size_t blocks, ends_bytes, bytes;
};

static Plan plan_of(const VariantArgs *args) {
    const ScanChoice choice = scan_choice(args);
    const size_t terms = discount_terms(args), count = discount_batch(args) * discount_n(args);
    const size_t size = discount_is_f64(args) ? sizeof(double) : sizeof(float);
    const unsigned length = discount_is_f64(args) ? VectorOf<double>::LENGTH : VectorOf<float>::LENGTH;
    Plan plan = {};
    if (terms > 0 && terms <= DIRECT_TERMS_MAX) {
        plan.blocks = divide_up(count, (size_t)DIRECT_THREADS);
        return plan;
    }
    plan.lines = scan_lines(args, choice.threads, length);
    if (terms > 0) plan.lines = {discount_batch(args), discount_n(args), 1, terms, discount_is_right(args)};
    plan.uniform = terms == 0 && discount_is_uniform(args) && plan.lines.rows == 1;
    plan.shape = scan_shape(plan.lines, choice, length, plan.uniform ? UNIFORM_VECTORS : GENERAL_VECTORS);
    plan.ends_bytes = terms > 0 ? divide_up(count * size, 256) * 256 : 0;
    plan.blocks = plan.shape.lines * plan.shape.strips;
    plan.bytes = plan.ends_bytes + scan_scratch_bytes(plan.shape);
    return plan;
}

static size_t scratch_bytes(const VariantArgs *args) {
    return discount_is_empty(args) ? 0 : plan_of(args).bytes;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t terms = discount_terms(args);
    if (!scan_choice_supports(args, reason)) return false;
    if (terms > DIRECT_TERMS_MAX && !discount_power_fits(args, discount_block_exponent(discount_n(args), terms), DTYPE_F64, reason))
        return false;
    return discount_is_empty(args) || discount_fits_grid(args, plan_of(args).blocks, reason);
}

template <typename T, bool RIGHT, unsigned VECTORS> static Status run_uniform(const VariantArgs *args, const Plan &plan) {
    const DiscountView<T> view = discount_view<T>(args);
    const LaunchShape strips = scan_strips_launch(plan.shape, args->stream);
    const bool packed = discount_is_packed(args);
    Affine<double> *maps = (Affine<double> *)args->scratch;
    return scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(uniform_kernel<T, RIGHT, VECTORS, WRITE, false>, strips, view, plan.lines, packed, plan.shape, maps);
    });
}

template <typename T, bool RIGHT, unsigned VECTORS> static Status run_general(const VariantArgs *args, const Plan &plan) {
    const DiscountReader<T, RIGHT> reader = {discount_view<T>(args), plan.lines, discount_is_packed(args), {}, 0, 0};
    const LaunchShape strips = scan_strips_launch(plan.shape, args->stream);
    Affine<double> *maps = (Affine<double> *)args->scratch;
    return scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(general_kernel<T, RIGHT, VECTORS, WRITE, false>, strips, reader, plan.shape, maps);
    });
}

template <typename T, bool RIGHT> static Status run_direct(const VariantArgs *args, const Plan &plan) {
    const LaunchShape shape = {dim3((unsigned)plan.blocks), dim3(DIRECT_THREADS), 0, args->stream};
    return launch(direct_kernel<T, RIGHT>, shape, discount_view<T>(args), (unsigned)discount_terms(args));
}

/* The second scan reuses the room of the first one's maps. */
template <typename T, bool RIGHT, unsigned VECTORS> static Status run_windows(const VariantArgs *args, const Plan &plan) {
    const DiscountView<T> view = discount_view<T>(args);
    const bool packed = discount_is_packed(args);
    const DiscountReader<T, !RIGHT> against = {view, plan.lines, packed, {}, 0, 0};
    const DiscountReader<T, RIGHT> along = {view, plan.lines, packed, {}, 0, 0};
    const LaunchShape strips = scan_strips_launch(plan.shape, args->stream);
    T *ends = (T *)args->scratch;
    AgainstScan *const back = (AgainstScan *)((char *)args->scratch + plan.ends_bytes);
    Affine<double> *const maps = (Affine<double> *)back;
    TRY(scan_strips(args, plan.shape, back, [&]<bool WRITE>() {
        return launch(ends_kernel<T, !RIGHT, VECTORS, WRITE>, strips, against, plan.shape, back, ends);
    }));
    return scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(windows_kernel<T, RIGHT, VECTORS, WRITE>, strips, along, plan.shape, maps, (const T *)ends);
    });
}

static Status run(const VariantArgs *args) {
    return discount_run(args, [args]<typename T, bool RIGHT>() {
        const Plan plan = plan_of(args);
        const size_t terms = discount_terms(args);
        const bool small = plan.shape.vectors == 1;
        if (terms > 0 && terms <= DIRECT_TERMS_MAX) return run_direct<T, RIGHT>(args, plan);
        if (terms > 0) return small ? run_windows<T, RIGHT, 1>(args, plan) : run_windows<T, RIGHT, GENERAL_VECTORS>(args, plan);
        if (plan.uniform) return small ? run_uniform<T, RIGHT, 1>(args, plan) : run_uniform<T, RIGHT, UNIFORM_VECTORS>(args, plan);
        return small ? run_general<T, RIGHT, 1>(args, plan) : run_general<T, RIGHT, GENERAL_VECTORS>(args, plan);
    });
}

static const char *const TILES[] = {"auto", "small", "large", NULL};
static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, SCAN_THREADS_MAX, NULL},
    {"strips", "parts of a row, a block each; 0: by shape, 1: one block and one launch", PARAM_INT, "0", 0, 65536, NULL},
    {"tiles", "elements of a thread at a time: small: 16 bytes, large: several times that", PARAM_CHOICE, "auto", 0, 0, TILES},
    {},
};

RUNGS_VARIANT(discounted_cumsum, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "affine maps scanned in blocks, carried along rows: one launch or three by shape",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
