#include "base/rng.h"
#include "base/vary.h"
#include "verify/elementary.h"
#include "verify/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 1000003 };

static double *draw(const char *family, uint64_t seed, uint64_t stream, size_t n) {
    Case problem = {.op = "none", .dtype = DTYPE_F64, .seed = seed};
    snprintf(problem.input, sizeof problem.input, "%s", family);
    Array array = array_1d("x", DTYPE_F64, n);
    array.data = calloc(n ? n : 1, sizeof(double));
    if (family_fill(&problem, stream, &array) != STATUS_OK) fail_msg("%s: %s", family, status_message());
    return array.data;
}

static float *draw_f32(const char *family, uint64_t seed, size_t n) {
    Case problem = {.op = "none", .dtype = DTYPE_F32, .seed = seed};
    snprintf(problem.input, sizeof problem.input, "%s", family);
    Array array = array_1d("x", DTYPE_F32, n);
    array.data = calloc(n ? n : 1, sizeof(float));
    if (family_fill(&problem, 0, &array) != STATUS_OK) fail_msg("%s: %s", family, status_message());
    return array.data;
}

static const char *usable(const Family *family) {
    return strcmp(family->name, "offset") == 0 ? "offset1e8" : family->name;
}

static void any_number_of_threads_gives_the_same(void **state) {
    (void)state;
    const int before = omp_get_max_threads();
    for (const Family *family = FAMILIES; family->name; family++) {
        const char *name = usable(family);
        omp_set_num_threads(1);
        double *one = draw(name, 7, 0, 250007);
        omp_set_num_threads(5);
        double *five = draw(name, 7, 0, 250007);
        if (memcmp(one, five, 250007 * sizeof *one) != 0) fail_msg("%s depends on the number of threads", name);
        free(one);
        free(five);
    }
    omp_set_num_threads(before);
}

static void seeds_and_streams_differ(void **state) {
    (void)state;
    for (const Family *family = FAMILIES; family->name; family++) {
        const char *name = usable(family);
        if (strcmp(name, "ones") == 0 || strcmp(name, "ramp") == 0) continue;
        double *a = draw(name, 1, 0, 1000), *b = draw(name, 2, 0, 1000), *c = draw(name, 1, 1, 1000);
        if (memcmp(a, b, 8000) == 0) fail_msg("%s does not depend on the seed", name);
        if (memcmp(a, c, 8000) == 0) fail_msg("%s does not depend on the stream", name);
        free(a);
        free(b);
        free(c);
    }
}

/* Bits of the first 1000 elements for seed 7, as FNV-1a: the same on every machine, for ever; rows and failures quote cases. */
static void bits_are_pinned(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t hash;
    } pinned[] = {
        {"uniform", UINT64_C(0xcf4991784b553ac8)},   {"normal", UINT64_C(0xf8aff8a380f53758)},
        {"integers", UINT64_C(0xfb533b178b17a745)},  {"offset1e8", UINT64_C(0x45b13d0468d871c5)},
        {"spike1e16", UINT64_C(0xc574faefca527899)}, {"alternating", UINT64_C(0x18f944ea209ea4de)},
        {"mixed", UINT64_C(0x27ed15dc3a8219bb)},     {"denormal", UINT64_C(0xab1c85cfa7898115)},
        {"naninf", UINT64_C(0x2c74a994df2a9507)},    {"sorted", UINT64_C(0x19a99634eff6b626)},
        {"gaps", UINT64_C(0x51d953bb85a1aded)},      {"heavytail", UINT64_C(0x0d7528be770c6328)},
        {"constant", UINT64_C(0xa74ce6215bc2dbe5)},  {"outlier", UINT64_C(0xd14d40cce1700afb)},
    };
    int wrong = 0;
    for (size_t k = 0; k < sizeof pinned / sizeof *pinned; k++) {
        double *x = draw(pinned[k].name, 7, 0, 1000);
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < 1000; i++) {
            uint64_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            if (isnan(x[i])) bits = 1;
            hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
        free(x);
        if (hash != pinned[k].hash) wrong++, print_error("%s: 0x%016llx\n", pinned[k].name, (unsigned long long)hash);
    }
    assert_int_equal(wrong, 0);
}

typedef struct Moments {
    double mean, variance, kurtosis, least, most;
} Moments;

static Moments moments(const double *x, size_t n) {
    Moments m = {.least = INFINITY, .most = -INFINITY};
    double m2 = 0, m4 = 0;
    for (size_t i = 0; i < n; i++) m.mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = x[i] - m.mean;
        m2 += d * d / (double)n;
        m4 += d * d * d * d / (double)n;
        m.least = fmin(m.least, x[i]);
        m.most = fmax(m.most, x[i]);
    }
    m.variance = m2;
    m.kurtosis = m4 / (m2 * m2);
    return m;
}

static void assert_near(double actual, double expected, double within) {
    if (!(fabs(actual - expected) <= within)) fail_msg("%.17g is not within %g of %.17g", actual, within, expected);
}

static void gaps_are_runs(void **state) {
    (void)state;
    double *x = draw("gaps", 3, 0, MANY);
    size_t run = 0, longest = 0, all = 0;
    for (size_t i = 0; i < MANY; i++) {
        assert_true(!isinf(x[i]));
        run = isnan(x[i]) ? run + 1 : 0;
        longest = run > longest ? run : longest;
        all += run > 0;
    }
    assert_true(longest >= 64 && longest <= 128);
    assert_near((double)all / MANY, 0.25, 0.01); /* 32 of 128 */
    free(x);
}

static void uniform_and_normal_have_their_moments(void **state) {
    (void)state;
    double *x = draw("uniform", 3, 0, MANY);
    Moments m = moments(x, MANY);
    assert_near(m.mean, 0.5, 2e-3);
    assert_near(m.variance, 1.0 / 12, 1e-3);
    assert_true(m.least > 0 && m.least < 1e-4 && m.most < 1 && m.most > 1 - 1e-4);
    free(x);
    x = draw("normal", 3, 0, MANY);
    m = moments(x, MANY);
    assert_near(m.mean, 0, 5e-3);
    assert_near(m.variance, 1, 1e-2);
    assert_near(m.kurtosis, 3, 5e-2);
    assert_true(m.most > 4 && m.most < 6 && m.least < -4 && m.least > -6);
    double neighbours = 0;
    for (size_t i = 1; i < MANY; i++) neighbours += x[i] * x[i - 1] / MANY;
    assert_near(neighbours, 0, 5e-3);
    free(x);
}

static void simple_families_hold_what_they_say(void **state) {
    (void)state;
    const size_t n = 300001;
    double *ones = draw("ones", 1, 0, n), *ramp = draw("ramp", 1, 0, n), *constant = draw("constant", 1, 0, n);
    double *integers = draw("integers", 1, 0, n), *sorted = draw("sorted", 1, 0, n), *alternating = draw("alternating", 1, 0, n);
    double *offset = draw("offset1e8", 1, 0, n), *normal = draw("normal", 1, 0, n);
    size_t seen[17] = {0};
    for (size_t i = 0; i < n; i++) {
        assert_true(ones[i] == 1 && ramp[i] == (double)i && constant[i] == constant[0] && offset[i] == 1e8 + normal[i]);
        assert_true(integers[i] == floor(integers[i]) && fabs(integers[i]) <= 8);
        seen[(int)integers[i] + 8]++;
        if (i) assert_true(sorted[i] > sorted[i - 1] && alternating[i] * alternating[i - 1] < 0);
        assert_true(fabs(alternating[i]) >= 1e8 && fabs(alternating[i]) <= 2e8);
    }
    for (int k = 0; k < 17; k++) assert_near((double)seen[k], (double)n / 17, 1000);
    assert_true(constant[0] > 0 && constant[0] != floor(constant[0] * 1024) / 1024);
    assert_true(sorted[0] > 0 && sorted[n - 1] < 1);
    double *all[] = {ones, ramp, constant, integers, sorted, alternating, offset, normal};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

static void extreme_families_reach_their_extremes(void **state) {
    (void)state;
    double *mixed = draw("mixed", 1, 0, MANY), *denormal = draw("denormal", 1, 0, MANY), *tail = draw("heavytail", 1, 0, MANY);
    float *denormal_f32 = draw_f32("denormal", 1, MANY);
    size_t negative = 0, small = 0, large = 0, inside = 0, zero = 0;
    for (size_t i = 0; i < MANY; i++) {
        const double magnitude = fabs(mixed[i]);
        assert_true(magnitude >= 0x1p-40 && magnitude <= 0x1p40);
        negative += mixed[i] < 0;
        small += magnitude < 0x1p-39;
        large += magnitude >= 0x1p39;
        assert_true(fabs(denormal[i]) < DBL_MIN && fabsf(denormal_f32[i]) < FLT_MIN);
        zero += denormal[i] == 0 || denormal_f32[i] == 0;
        assert_true(isfinite(tail[i]));
        inside += fabs(tail[i]) < 1; /* half of a Cauchy distribution */
    }
    assert_near((double)negative, MANY / 2.0, 3000);
    assert_near((double)small, MANY / 80.0, 700);
    assert_near((double)large, MANY / 80.0, 700);
    assert_near((double)inside, MANY / 2.0, 3000);
    assert_true(zero < 10);
    const Moments m = moments(tail, MANY);
    assert_true(m.most > 1e4 && m.least < -1e4);
    free(mixed);
    free(denormal);
    free(tail);
    free(denormal_f32);
}

static void events_are_planted_once_per_period(void **state) {
    (void)state;
    for (size_t n = 8; n < 1000; n++) {
        double *x = draw("naninf", n, 0, n), *spike = draw("spike1e16", n, 0, n);
        size_t nan = 0, plus = 0, minus = 0, spikes = 0;
        for (size_t i = 0; i < n; i++) {
            nan += isnan(x[i]) != 0;
            plus += x[i] == INFINITY;
            minus += x[i] == -INFINITY;
            spikes += spike[i] == 1e16;
        }
        if (nan != 1 || plus != 1 || minus != 1 || spikes != 1)
            fail_msg("n=%zu: %zu NaN, %zu +inf, %zu -inf, %zu spikes instead of one of each", n, nan, plus, minus, spikes);
        free(x);
        free(spike);
    }
    double *x = draw("naninf", 5, 0, MANY), *spike = draw("spike1e16", 5, 0, MANY);
    size_t special = 0, spikes = 0, first = MANY, other = 0;
    for (size_t i = 0; i < MANY; i++) {
        if (!isfinite(x[i]))
            special++, first = i < first ? i : first;
        else
            other += !(x[i] > 0 && x[i] < 1);
        spikes += spike[i] == 1e16;
    }
    assert_true(special >= 30 && special <= 33 && spikes >= 10 && spikes <= 11 && other == 0 && first < 100000);
    free(x);
    free(spike);
}

static void f32_is_the_rounded_f64(void **state) {
    (void)state;
    double *f64 = draw("normal", 9, 0, 5000);
    float *f32 = draw_f32("normal", 9, 5000);
    for (size_t i = 0; i < 5000; i++) assert_true(f32[i] == (float)f64[i]);
    free(f64);
    free(f32);
}

static void sizes_zero_and_one_work(void **state) {
    (void)state;
    for (const Family *family = FAMILIES; family->name; family++)
        for (size_t n = 0; n < 4; n++) free(draw(usable(family), 1, 0, n));
}

static void elementary_functions_agree_with_libm(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        const double u = rng_uniform(1, i), x = ldexp(u, (int)(i % 60) - 50);
        double sine, cosine;
        elementary_turn(u, &sine, &cosine);
        assert_near(sine, sin(2 * 3.14159265358979323846 * u), 2e-15);
        assert_near(cosine, cos(2 * 3.14159265358979323846 * u), 2e-15);
        assert_near(elementary_log(x), log(x), 1e-15 * (1 + fabs(log(x))));
    }
    assert_true(elementary_log(1) == 0);
}

static void assert_refused(const char *name, const char *expected) {
    assert_int_equal(family_check(name), STATUS_INVALID);
    if (!strstr(status_message(), expected)) fail_msg("'%s' is not in: %s", expected, status_message());
}

static void names_are_checked(void **state) {
    (void)state;
    static const char *const good[] = {"uniform", "offset1e3", "offset1e9", "offset100", "spike1e16", "real:co2"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_int_equal(family_check(good[i]), STATUS_OK);
    assert_refused("unifrom", "did you mean 'uniform'");
    assert_refused("gaussian-ish", "real:NAME");
    assert_refused("offset", "must follow 'offset'");
    assert_refused("offset-1e3", "must follow 'offset'");
    assert_refused("offsetnan", "must follow 'offset'");
    assert_refused("offset1e300", "must follow 'offset'");
    assert_refused("real:co3", "did you mean 'real:co2'");
    assert_refused("real:../../etc/passwd", "known: real:co2");
    assert_refused("", "uniform");
}

static void series_are_real_and_tiled(void **state) {
    (void)state;
    Case problem = {.op = "none", .dtype = DTYPE_F64, .input = "real:co2", .seed = 1};
    Array array = array_1d("x", DTYPE_F64, 10000);
    double *x = array.data = calloc(10000, sizeof(double));
    const Status status = family_fill(&problem, 0, &array);
    if (status == STATUS_UNSUPPORTED) { /* then the message has to help */
        assert_non_null(strstr(status_message(), "needs the Python package statsmodels"));
        assert_non_null(strstr(status_message(), "-m pip install statsmodels"));
        free(x);
        skip();
    }
    if (status != STATUS_OK) fail_msg("%s", status_message());
    size_t missing = 0;
    for (size_t i = 0; i < 2284; i++) missing += isnan(x[i]) != 0;
    assert_int_equal(missing, 59);
    assert_true(x[0] == 316.1 && x[2283] == 371.5);
    for (size_t i = 2284; i < 10000; i++) assert_true(x[i] == x[i - 2284] || (isnan(x[i]) && isnan(x[i - 2284])));
    problem.seed = 2;
    assert_int_equal(family_fill(&problem, 0, &array), STATUS_OK);
    assert_true(x[0] != 316.1);
    free(x);
}

/* Backwards: their order does not matter. */
static void patch_all(const Rewriting *self, size_t state) {
    Patch patches[VARY_PATCHES];
    vary_patches(self, state, patches);
    for (int i = VARY_PATCHES; i-- > 0;)
        if (patches[i].size > 0) memcpy(patches[i].to, &patches[i].bits, patches[i].size);
}

/* Every state differs from the one before it, in four elements at most, and state 0 is what it was; no place and no infinity comes
 * or goes, and a ramp ascends in all. Patches bring a copy into the same states. */
static void check_rewriting(VaryHow how, DType dtype, const void *a, const void *b, size_t n) {
    enum { STATES = 50 };
    const size_t size = dtype_size(dtype);
    unsigned char *x = malloc(n * size), *first = malloc(n * size), *last = malloc(n * size), *copy = malloc(n * size);
    const Array input = array_1d("x", dtype, n);
    Rewriting self = {.how = vary_input(how, 12345, 0, &input), .dtype = dtype, .n = n, .a = a, .b = b, .to = x};
    if (dtype_is_real(dtype)) vary_extremes(dtype, a, n, self.extreme);
    vary_all(&self.how, dtype, n, a, b, x);
    memcpy(first, x, n * size);
    memcpy(copy, x, n * size);
    Rewriting of_copy = self;
    of_copy.to = copy;
    size_t alike = 0;
    for (size_t state = STATES; state-- > 0;) {
        memcpy(last, x, n * size);
        vary_rewrite(&self, state);
        patch_all(&of_copy, state);
        assert_memory_equal(copy, x, n * size);
        size_t others = 0;
        for (size_t i = 0; i < n; i++) {
            others += memcmp(x + i * size, last + i * size, size) != 0;
            if (dtype == DTYPE_F64) assert_true(isfinite(((double *)(void *)x)[i]) == isfinite(((const double *)a)[i]));
            if (how == VARY_STEPS && i > 0) assert_true(((double *)(void *)x)[i] > ((double *)(void *)x)[i - 1]);
        }
        assert_true(others <= 4);
        alike += others == 0;
    }
    assert_true(alike <= 1); /* a value may be the same in both sets */
    assert_memory_equal(x, first, n * size);
    free(x), free(first), free(last), free(copy);
}

/* A column as it is drawn for a key: every row of the first one, whole, once, none where it was (but by chance), bytes that no row
 * owns left alone; any part made alone is the same. */
static void check_rows(size_t rows, uint64_t key, bool wide) {
    enum { BEFORE = 13, AFTER = 7 };
    const size_t most = BEFORE + 9 * rows + AFTER, bits = rows / 8 + 1;
    int32_t *narrow = calloc(rows + 1, sizeof *narrow), *narrow_to = calloc(rows + 1, sizeof *narrow);
    int64_t *offsets = calloc(rows + 1, sizeof *offsets), *to = calloc(rows + 1, sizeof *to);
    unsigned char *chars = malloc(most), *chars_to = malloc(most), *valid = calloc(bits, 1), *valid_to = calloc(bits, 1);
    unsigned char *met = calloc(rows + 1, 1);
    memset(chars, '#', most);
    size_t at = BEFORE, moved = 0;
    for (size_t i = 0; i < rows; i++) { /* each says its number, in as many bytes as it pleases */
        char text[24];
        offsets[i] = (int64_t)at, narrow[i] = (int32_t)at;
        snprintf(text, sizeof text, "%zu,", i);
        memcpy(chars + at, text, strlen(text));
        at += strlen(text);
        valid[i / 8] |= (unsigned char)((i % 3 == 0) << i % 8);
    }
    offsets[rows] = (int64_t)at, narrow[rows] = (int32_t)at;
    const size_t n = at + AFTER;
    Array in[] = {array_1d("x.offsets", wide ? DTYPE_I64 : DTYPE_I32, rows + 1), array_1d("x.chars", DTYPE_U8, n),
                  array_1d("x.validity", DTYPE_U8, bits)};
    in[0].data = wide ? (void *)offsets : (void *)narrow;
    Vary how[3];
    static const VaryHow hows[] = {VARY_ROW_OFFSETS, VARY_ROW_BYTES, VARY_ROW_BITS};
    for (int i = 0; i < 3; i++) {
        how[i] = vary_input(hows[i], key, i, in);
        assert_int_equal(vary_offsets(hows[i], i), 0);
    }
    vary_all(&how[0], in[0].dtype, rows + 1, in[0].data, NULL, wide ? (void *)to : (void *)narrow_to);
    for (size_t i = 0; i <= rows && !wide; i++) to[i] = narrow_to[i];
    for (size_t begin = 0; begin < n; begin += 97)
        vary_some(&how[1], DTYPE_U8, begin, begin + 97 < n ? begin + 97 : n, chars, NULL, chars_to);
    vary_all(&how[2], DTYPE_U8, bits, valid, NULL, valid_to);
    assert_true(to[0] == BEFORE && to[rows] == offsets[rows]);
    assert_memory_equal(chars_to, chars, BEFORE);
    assert_memory_equal(chars_to + at, chars + at, AFTER);
    for (size_t i = 0; i < rows; i++) {
        char text[24];
        const size_t was = strtoul((char *)chars_to + to[i], NULL, 10);
        snprintf(text, sizeof text, "%zu,", was);
        assert_true(was < rows && !met[was]);
        assert_int_equal(to[i + 1] - to[i], strlen(text));
        assert_memory_equal(chars_to + to[i], text, strlen(text));
        assert_int_equal(valid_to[i / 8] >> i % 8 & 1, was % 3 == 0);
        met[was] = 1, moved += was != i;
    }
    if (rows > 1000) assert_true(moved > rows * 9 / 10);
    free(narrow), free(narrow_to), free(offsets), free(to), free(chars), free(chars_to), free(valid), free(valid_to), free(met);
}

static void rows_come_in_another_order(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 63, 64, 65, 127, 4095, 4096, 4097, 4160, 20011, 262144, 262145, 300007};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_rows(counts[i], 1000 + i, i % 2);
}

/* As a GPU makes it: by itself. */
static double element(const Vary *how, size_t i, const double *a, const double *b) {
    if (how->how == VARY_MIX) return vary_takes(vary_bits(how, i / VARY_BITS), i, a[i], b[i]) ? b[i] : a[i];
    if (how->how != VARY_SHUFFLE) return vary_number(how, i, a[i]);
    const size_t from = order_source(&how->rows.order, i);
    return vary_shuffled(a[i], vary_bits(how, i / VARY_BITS) >> i % VARY_BITS & 1 ? b[from] : a[from]);
}

static void inputs_are_made_in_parts_as_element_by_element(void **state) {
    (void)state;
    enum { N = 20011 };
    const VaryHow hows[] = {VARY_MIX, VARY_VALUE, VARY_STEPS, VARY_LEVELS, VARY_FACTORS, VARY_SHUFFLE};
    double *a = draw("normal", 1, 0, N), *b = draw("normal", 2, 0, N), *x = calloc(N, sizeof *x);
    unsigned char *text = malloc(N), *turned = malloc(N);
    const Array in = array_1d("x", DTYPE_F64, N);
    a[7] = INFINITY, a[4000] = NAN, b[8] = -INFINITY, b[64] = NAN, a[63] = -0.0;
    for (size_t i = 0; i < N; i++) text[i] = (unsigned char)(i * 7);
    for (size_t h = 0; h < sizeof hows / sizeof *hows; h++) {
        const Vary how = vary_input(hows[h], 12345 + h, 0, &in);
        for (size_t begin = 0, end; begin < N; begin = end) { /* 1, 2, ... of them, as far as they go */
            end = begin + begin % 130 + 1 < N ? begin + begin % 130 + 1 : N;
            vary_some(&how, DTYPE_F64, begin, end, a, b, x);
        }
        for (size_t i = 0; i < N; i++) {
            const double y = element(&how, i, a, b);
            if (memcmp(&x[i], &y, sizeof y) != 0) fail_msg("how %d: element %zu is %a, not %a", (int)hows[h], i, x[i], y);
        }
    }
    const Vary letters = vary_open(VARY_LETTERS, 5, N);
    for (size_t begin = 0, end; begin < N; begin = end) {
        end = begin + begin % 130 + 1 < N ? begin + begin % 130 + 1 : N;
        vary_some(&letters, DTYPE_U8, begin, end, text, NULL, turned);
    }
    for (size_t i = 0; i < N; i++) assert_int_equal(turned[i], vary_turned(rng_at(letters.element_key, i / 8), i, text[i]));
    free(a), free(b), free(x), free(text), free(turned);
}

static void rewritten_inputs_are_of_their_kind(void **state) {
    (void)state;
    enum { N = 5000 };
    double *a = draw("normal", 1, 0, N), *b = draw("normal", 2, 0, N);
    float *f = draw_f32("normal", 1, N), *g = draw_f32("normal", 2, N);
    char *text = malloc(N);
    a[7] = INFINITY, a[4000] = NAN, b[8] = NAN;
    memset(text, 'q', N);
    check_rewriting(VARY_MIX, DTYPE_F32, f, g, N);
    check_rewriting(VARY_LETTERS, DTYPE_U8, text, NULL, N);
    check_rewriting(VARY_MIX, DTYPE_F64, a, b, N);
    check_rewriting(VARY_SHUFFLE, DTYPE_F32, f, g, N);
    check_rewriting(VARY_SHUFFLE, DTYPE_F64, a, b, N);
    check_rewriting(VARY_FACTORS, DTYPE_F64, a, NULL, N);
    for (size_t i = 0; i < N; i++) a[i] = 1;
    check_rewriting(VARY_LEVELS, DTYPE_F64, a, NULL, N);
    check_rewriting(VARY_STEPS, DTYPE_F64, a, NULL, N);
    check_rewriting(VARY_VALUE, DTYPE_F64, a, NULL, N);
    free(a), free(b), free(f), free(g), free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same),
        cmocka_unit_test(seeds_and_streams_differ),
        cmocka_unit_test(bits_are_pinned),
        cmocka_unit_test(gaps_are_runs),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
        cmocka_unit_test(simple_families_hold_what_they_say),
        cmocka_unit_test(extreme_families_reach_their_extremes),
        cmocka_unit_test(events_are_planted_once_per_period),
        cmocka_unit_test(f32_is_the_rounded_f64),
        cmocka_unit_test(sizes_zero_and_one_work),
        cmocka_unit_test(elementary_functions_agree_with_libm),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(series_are_real_and_tiled),
        cmocka_unit_test(rows_come_in_another_order),
        cmocka_unit_test(rewritten_inputs_are_of_their_kind),
        cmocka_unit_test(inputs_are_made_in_parts_as_element_by_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
