/* The affine map of all scans: its laws, on the host and in kernels, and scans of it against the recurrence itself. Numbers are
 * small integers and powers of two, so that every grouping gives the same bits. */
#include "common/affine.cuh"
#include "common/discounted_cumsum/stage.cuh"
#include "kernel.h"
#include "selftest.h"

typedef Affine<double> Map;

enum { N = 192, THREADS = 96, BLOCKS = N / THREADS };

static __host__ __device__ Map then(Map first, Map later) {
    first.merge(later);
    return first;
}

static __host__ __device__ bool same(double p, double q) {
    return (p != p && q != q) || (p == q && copysign(1.0, p) == copysign(1.0, q));
}

/* NaN, zeros, the ends of the range, and plain numbers. */
static __host__ __device__ double special(int i) {
    const double huge = 0x1.fffffffffffffp1023, tiny = 0x1p-1074, infinity = 2 * huge;
    const double values[] = {1, -0.5, 2, 0, huge, -tiny, infinity, -infinity, infinity - infinity, affine_cut<double>()};
    return values[i];
}
enum { SPECIAL = 10, FACTORS = 6 /* the first of special(), and the last: what a factor may be */ };

static __host__ __device__ Map special_map(int i) {
    const int factor = i % (FACTORS + 1);
    return {special(factor < FACTORS ? factor : SPECIAL - 1), special(i / (FACTORS + 1) % (SPECIAL - 1))};
}
enum { MAPS = (FACTORS + 1) * (SPECIAL - 1) };

static __host__ __device__ bool plain(double value) {
    return fabs(value) != special(4) && fabs(value) != -special(5);
}

/* Number of the first law that does not hold; 0: all do. */
static __host__ __device__ int broken_law(int i) {
    const Map identity, m = special_map(i);
    const Map left = then(identity, m), right = then(m, identity);
    if (!same(left.a, m.a) || !(same(left.b, m.b) || affine_is_cut(m.a))) return 1;
    if (!same(right.a, m.a) || !same(right.b, m.b)) return 2;
    for (int j = 0; j < MAPS; j++) {
        const Map n = special_map(j), both = then(m, n);
        for (int k = 0; k < SPECIAL - 1; k++) {
            const double y = special(k), stepped = n.of(m.of(y)), composed = both.of(y);
            /* Exact as long as nothing is rounded. */
            const bool exact = plain(m.a) && plain(n.a) && plain(m.b) && plain(n.b) && plain(y);
            if (exact && !same(stepped, composed) && stepped != composed) return 3;
            if (affine_is_cut(n.a) && !same(composed, n.b)) return 4;
            if (affine_is_cut(m.a) && !affine_is_cut(both.a)) return 5;
            if (affine_is_cut(both.a) != (affine_is_cut(m.a) || affine_is_cut(n.a))) return 6;
            if (both.a == 0 && !(m.a == 0 || n.a == 0)) return 7;
            if (!(fabs(both.a) <= special(4))) return 8;
            if (exact && (stepped != stepped) != (composed != composed)) return 9;
        }
    }
    const double tiny = -special(5), huge = special(4);
    if (affine_power(0.5, 100000) != tiny || affine_power(-0.5, 100001) != -tiny || affine_power(2.0, 100000) != huge) return 10;
    if (affine_power(0.0, 0) != 1 || affine_power(0.0, 7) != 0 || affine_power(-2.0, 9) != -512 || affine_power(3.0, 1) != 3)
        return 11;
    if (affine_is_cut(affine_factor(affine_cut<double>())) || affine_is_cut(affine_product(-0.5, 0.0))) return 12;
    if (!affine_is_cut(affine_product(special(8), affine_cut<double>()))) return 13;
    return 0;
}

static __global__ void laws(int *broken) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < MAPS) broken[i] = broken_law(i);
}

static Status run_laws(const Device *device) {
    int expected[MAPS] = {0}, host[MAPS], *broken;
    for (int i = 0; i < MAPS; i++) host[i] = broken_law(i);
    for (int i = 0; i < MAPS; i++)
        if (host[i]) return status_fail(STATUS_CHECK, "on the host law %d is broken by map %d", host[i], i);
    TRY(make_array<int>(device, NULL, MAPS, &broken));
    TRY(launch(laws, {1, 64, 0, device->stream()}, broken));
    return expect_equal(device, broken, expected, MAPS, "laws on the device");
}

/* Any grouping of ordinary maps, bit by bit. */
static Status run_associativity(const Device *) {
    const double factors[] = {1, -0.5, 2, 0, affine_cut<double>()};
    for (int i = 0; i < 125; i++) {
        const Map p = {factors[i % 5], 3}, q = {factors[i / 5 % 5], -5}, r = {factors[i / 25], 7};
        const Map early = then(then(p, q), r), late = then(p, then(q, r));
        if (!same(early.a, late.a) || !same(early.b, late.b))
            return status_fail(STATUS_CHECK, "grouping %d: {%a, %a} and {%a, %a}", i, early.a, early.b, late.a, late.b);
    }
    return STATUS_OK;
}

static __global__ void scans(const Map *maps, double *in_warp, double *in_block, double *backwards) {
    __shared__ Map totals[2 * WARP];
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    const Map own = maps[i];
    in_warp[i] = warp_scan<true>(own).b;
    Map all, before = block_scan_exclusive<true>(own, totals, &all);
    before.merge(own);
    in_block[i] = before.b;
    Map behind = block_scan_exclusive<false>(own, totals + WARP, &all);
    behind.merge(own);
    backwards[i] = behind.b;
}

static Status run_scans(const Device *device) {
    Map maps[N], *in;
    double in_warp[N], in_block[N], backwards[N], *warp, *block, *reverse;
    const double factors[] = {1, -0.5, 2, 1, 0.5, 0, -1, -2, 0.25, affine_cut<double>(), 1};
    for (int i = 0; i < N; i++) maps[i] = {factors[i * 7 % 11], (double)(i * 29 % 17 - 8)};
    maps[100].b = special(6);
    for (int i = 0; i < N; i++) {
        in_warp[i] = maps[i].of(i % WARP == 0 ? 0 : in_warp[i - 1]);
        in_block[i] = maps[i].of(i % THREADS == 0 ? 0 : in_block[i - 1]);
    }
    for (int i = N - 1; i >= 0; i--) backwards[i] = maps[i].of(i % THREADS == THREADS - 1 ? 0 : backwards[i + 1]);
    TRY(make_array(device, maps, N, &in));
    TRY(make_array<double>(device, NULL, N, &warp));
    TRY(make_array<double>(device, NULL, N, &block));
    TRY(make_array<double>(device, NULL, N, &reverse));
    TRY(launch(scans, {BLOCKS, THREADS, 0, device->stream()}, (const Map *)in, warp, block, reverse));
    TRY(expect_equal(device, warp, in_warp, N, "warp_scan"));
    TRY(expect_equal(device, block, in_block, N, "block_scan_exclusive"));
    return expect_equal(device, reverse, backwards, N, "block_scan_exclusive backwards");
}

/* Of exponents that no float has, and of both signs. */
static const size_t EXPONENTS[] = {0, 1, 2, 3, 16777215, 16777216, 16777217, 16777219, 33554433, 4294967297};
enum { POWERS = sizeof EXPONENTS / sizeof *EXPONENTS };

static __global__ void powers(const size_t *exponents, float *minus_one, float *half, double *doubles) {
    const unsigned i = threadIdx.x;
    if (i >= POWERS) return;
    minus_one[i] = stage_pow(-1.0f, exponents[i]);
    half[i] = stage_pow(-0.5f, exponents[i]);
    doubles[i] = stage_pow(-1.0, exponents[i]);
}

static Status run_powers(const Device *device) {
    size_t *exponents;
    float minus_one[POWERS], half[POWERS], *ones, *halves;
    double doubles[POWERS], *wide;
    for (int i = 0; i < POWERS; i++) {
        doubles[i] = EXPONENTS[i] % 2 ? -1 : 1;
        minus_one[i] = (float)doubles[i];
        half[i] = minus_one[i] * (i < 4 ? 1 / (float)(1 << EXPONENTS[i]) : 0);
    }
    TRY(make_array(device, EXPONENTS, POWERS, &exponents));
    TRY(make_array<float>(device, NULL, POWERS, &ones));
    TRY(make_array<float>(device, NULL, POWERS, &halves));
    TRY(make_array<double>(device, NULL, POWERS, &wide));
    TRY(launch(powers, {1, 32, 0, device->stream()}, (const size_t *)exponents, ones, halves, wide));
    TRY(expect_equal(device, ones, minus_one, POWERS, "powers of -1 in float"));
    TRY(expect_equal(device, halves, half, POWERS, "powers of -0.5 in float"));
    return expect_equal(device, wide, doubles, POWERS, "powers of -1");
}

extern "C" const SelfTest CLEAN_AFFINE[] = {
    {"affine laws", run_laws, {}},
    {"affine associativity", run_associativity, {}},
    {"affine scans", run_scans, {}},
    {"powers by pow()", run_powers, {}},
    {NULL, NULL, {}},
};
