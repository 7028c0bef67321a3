/* The CPU variants of `redact` against the oracle, to the byte: every family, size, offset type, kind of nulls and slice. Inputs
 * end where memory ends, outputs are fenced, and what is allocated is counted. */
#include "redact_support.h"

#include "variant_support.h"

#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *name;
    const char *id;
} VARIANTS[] = {{"cpu_sequential", VARIANT_ID(redact, cpu_sequential)}, {"cpu_best", VARIANT_ID(redact, cpu_best)}};
enum { VARIANT_COUNT = 2, GUARD = 64 };

/* Memory of a call: guards on both sides, every piece counted, and a largest piece that is given. */
typedef struct Fenced {
    VariantMemory memory;
    int live;
    size_t most, largest_asked;
} Fenced;

static Status fenced_allocate(VariantMemory *memory, size_t bytes, void *stream, void **out) {
    Fenced *self = (Fenced *)memory;
    (void)stream;
    *out = NULL;
    if (bytes > self->largest_asked) self->largest_asked = bytes;
    if (bytes > self->most) return status_fail(STATUS_MEMORY, "the test gives no %zu bytes", bytes);
    if (bytes == 0) return STATUS_OK;
    unsigned char *piece = malloc(GUARD + bytes + GUARD);
    memcpy(piece, &bytes, sizeof bytes);
    memset(piece + sizeof bytes, 0xc5, GUARD - sizeof bytes + bytes + GUARD);
    self->live++;
    *out = piece + GUARD;
    return STATUS_OK;
}

static void fenced_release(VariantMemory *memory, void *pointer, void *stream) {
    Fenced *self = (Fenced *)memory;
    (void)stream;
    unsigned char *piece = (unsigned char *)pointer - GUARD;
    size_t bytes;
    memcpy(&bytes, piece, sizeof bytes);
    for (size_t g = sizeof bytes; g < GUARD; g++) assert_int_equal(piece[g], 0xc5);
    for (size_t g = 0; g < GUARD; g++) assert_int_equal(piece[GUARD + bytes + g], 0xc5);
    self->live--;
    free(piece);
}

static Fenced fenced(size_t most) {
    return (Fenced){.memory = {fenced_allocate, fenced_release}, .most = most};
}

/* A copy whose last byte is the last before memory that cannot be touched. */
typedef struct Cliff {
    void *pages;
    size_t bytes;
} Cliff;

static Cliff cliff_copy(Array *array) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = array_bytes(array), pages = (bytes + page - 1) / page * page + page;
    unsigned char *memory = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + pages - page, page, PROT_NONE), 0);
    if (bytes) memcpy(memory + pages - page - bytes, array->data, bytes);
    array->data = memory + pages - page - bytes;
    return (Cliff){memory, pages};
}

static void same(const Redact *self, const char *who, const Array *given, const Array *expected) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (given[i].shape[0] != expected[i].shape[0])
            fail_msg("%s on %s: %s has %zu elements, expected %zu", who, self->text, expected[i].name, given[i].shape[0],
                     expected[i].shape[0]);
        if (array_bytes(&expected[i]) && memcmp(given[i].data, expected[i].data, array_bytes(&expected[i])) != 0)
            fail_msg("%s on %s: %s differs", who, self->text, expected[i].name);
    }
}

static VariantArgs arguments(const Redact *self, const Variant *variant, const char *threads, Params *tunables, Fenced *memory,
                             const Array *in, Array *out) {
    assert_int_equal(params_init(variant->tunables, tunables), STATUS_OK);
    if (params_has(tunables, "threads")) assert_int_equal(params_set(tunables, "threads", threads), STATUS_OK);
    memcpy(out, self->out, OUTPUTS * sizeof *out);
    for (int i = 0; i < OUTPUTS; i++) out[i].data = NULL;
    return (VariantArgs){.problem = &self->problem,
                         .tunables = tunables,
                         .in = in,
                         .in_count = INPUTS,
                         .out = out,
                         .out_count = OUTPUTS,
                         .memory = &memory->memory};
}

/* The oracle's answer is in self->out. */
static void check(const Redact *self, const char *threads) {
    Array in[INPUTS], out[OUTPUTS];
    Cliff cliffs[INPUTS];
    memcpy(in, self->in, sizeof in);
    for (int i = 0; i < INPUTS; i++) cliffs[i] = cliff_copy(&in[i]);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        Params tunables;
        Fenced memory = fenced(SIZE_MAX / 2);
        VariantArgs args = arguments(self, variant_of(VARIANTS[v].id), threads, &tunables, &memory, in, out);
        if (variant_of(VARIANTS[v].id)->run(&args) != STATUS_OK)
            fail_msg("%s on %s: %s", VARIANTS[v].name, self->text, status_message());
        same(self, VARIANTS[v].name, out, self->out);
        for (int i = 0; i < OUTPUTS; i++)
            if (out[i].data) memory.memory.release(&memory.memory, out[i].data, NULL);
        assert_int_equal(memory.live, 0);
    }
    for (int i = 0; i < INPUTS; i++) munmap(cliffs[i].pages, cliffs[i].bytes);
}

static void every_family_and_size(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 20001};
    static const char *const nulls[] = {"none", "some", "names", "visibilities"};
    for (const char *const *family = rungs_op_redact.families; *family; family++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int k = 0; k < 16; k++) {
                const bool large = sizes[s] > 4097 || strncmp(*family, "long", 4) == 0;
                if (large && sizes[s] > 1 && k % 5) continue;
                if (strcmp(*family, "long100k") == 0 && sizes[s] > 33) continue;
                Redact self = redact_open("redact rows=%zu nulls=%s slice=%s dtype=%s input=%s seed=%d", sizes[s], nulls[k % 4],
                                          k & 4 ? "head" : "none", k & 8 ? "i64" : "i32", *family, k + 1);
                redact_answer(&self, EXACT);
                check(&self, "3");
                redact_close(&self);
            }
}

static void any_number_of_threads(void **state) {
    (void)state;
    static const char *const threads[] = {"0", "1", "2", "7"};
    for (size_t t = 0; t < 4; t++) {
        Redact self = redact_open("redact rows=100003 nulls=some slice=head dtype=i32 input=utf8 seed=9");
        redact_answer(&self, EXACT);
        check(&self, threads[t]);
        redact_close(&self);
    }
}

/* Names around the length of a vector, spaces in each place, where the column ends and where it does not. */
static void names_around_a_vector(void **state) {
    (void)state;
    static char names[400][24];
    RedactRow rows[400];
    size_t count = 0;
    for (size_t length = 0; length < 20; length++)
        for (size_t space = 0; space <= length; space++) {
            memset(names[count], 'a' + (int)(count % 26), length);
            names[count][length] = '\0';
            if (space < length) names[count][space] = ' ';
            rows[count] = (RedactRow){names[count], count % 17 == 3 ? "private" : "public"};
            count++;
        }
    for (size_t first = 0; first < count; first++)
        for (int after = 0; after < 20; after += 19) {
            Redact self = redact_own(DTYPE_I32, rows, first + 1, 3, (size_t)after);
            redact_answer(&self, EXACT);
            check(&self, "1");
            redact_close(&self);
        }
}

/* 2^31 - 1 bytes of names without a space are two more for each row in the output: refused with 32-bit offsets before memory for
 * them is asked for, and asked for to the byte with 64-bit offsets. The names are pages that nobody has written. */
static void beyond_int32(void **state) {
    (void)state;
    enum { ROWS = 2048, NAME = 1 << 20 };
    const size_t total = (size_t)ROWS * NAME - 1;
    void *names = mmap(NULL, total, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(names, MAP_FAILED);
    for (int wide = 0; wide < 2; wide++) {
        Redact self = redact_open("redact rows=%d dtype=%s input=public", ROWS, wide ? "i64" : "i32");
        free(self.in[NAMES + CHARS].data);
        self.in[NAMES + CHARS].data = names;
        self.in[NAMES + CHARS].shape[0] = total;
        for (size_t row = 0; row <= ROWS; row++) column_set_offset(&self.in[NAMES], row, row < ROWS ? row * NAME : total);
        for (int v = 0; v < VARIANT_COUNT; v++) {
            Params tunables;
            Array out[OUTPUTS];
            Fenced memory = fenced(1 << 20);
            VariantArgs args = arguments(&self, variant_of(VARIANTS[v].id), "2", &tunables, &memory, self.in, out);
            assert_int_equal(variant_of(VARIANTS[v].id)->run(&args), wide ? STATUS_MEMORY : STATUS_INVALID);
            assert_int_equal(memory.live, 0);
            if (wide)
                assert_true(memory.largest_asked == total + 2 * ROWS);
            else
                assert_non_null(strstr(status_message(), "2147487743 bytes; int32 offsets hold 2147483647; use dtype=i64"));
        }
        self.in[NAMES + CHARS].data = NULL;
        redact_close(&self);
    }
    munmap(names, total);
}

/* Whichever allocation fails, those before it are released. */
static void no_memory(void **state) {
    (void)state;
    Redact self = redact_open("redact rows=5000 nulls=some");
    redact_answer(&self, EXACT);
    size_t most[] = {8, 700, 20004, 0};
    most[3] = self.out[CHARS].shape[0] - 1;
    for (size_t m = 0; m < 4; m++)
        for (int v = 0; v < VARIANT_COUNT; v++) {
            Params tunables;
            Array out[OUTPUTS];
            Fenced memory = fenced(most[m]);
            VariantArgs args = arguments(&self, variant_of(VARIANTS[v].id), "2", &tunables, &memory, self.in, out);
            assert_int_equal(variant_of(VARIANTS[v].id)->run(&args), STATUS_MEMORY);
            assert_int_equal(memory.live, 0);
        }
    redact_close(&self);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_and_size),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(names_around_a_vector),
        cmocka_unit_test(beyond_int32),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
