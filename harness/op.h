/* op.h - contract: what is computed. The op owns meaning, parameters, reference, error bound and work model, so that no
 * variant can flatter itself. One file, reference/<op>.c, ending with
 *
 *     RUNGS_OP(rolling) = { .name = "rolling", ... };
 */
#pragma once

#include "base/array.h"
#include "base/case.h"
#include "base/params.h"
#include "base/reads.h"
#include "base/status.h"

#include <stdbool.h>

/* Reference for one output array: same number of elements. On the host. */
typedef struct Reference {
    double *value;     /* computed in better than double, rounded once to double; NaN and inf exactly where they belong */
    double *tolerance; /* largest |actual - value| that passes, per element, >= 0; 0 demands equality */
} Reference;

/* How large an error may be, as a formula over the case and its data; evaluated per element into Reference.tolerance. */
typedef struct Bound {
    const char *name;    /* NULL ends the table; the first is the op's own, the others are looser, for variants that declare them */
    const char *formula; /* for people: "2 (w + 16) u mean|x| over the window" */
} Bound;

typedef struct Work {
    double bytes;    /* each input read once, each output written once */
    double flops;    /* what the definition needs */
    double elements; /* that throughput counts: of the main input; rows of strings */
} Work;

enum { OP_MAX_WRONG = 8 };

typedef struct Op {
    const char *name;
    const char *summary;
    const ParamSpec *params;
    const DType *dtypes;      /* that its cases may have, the default first, DTYPE_COUNT last; NULL: f64 and f32 */
    const DType *accumulates; /* what `accumulate=` may say of its sums, DTYPE_COUNT last; NULL: it is not asked */
    /* Meaningful input families, NULL-terminated; see verify/families.h. An op whose dtypes are no floating-point numbers has
     * families of its own too, made by generate(). */
    const char *const *families;
    const Bound *bounds;
    int in_count, out_count;
    /* The sizes of outputs depend on the data (strings): the first dimension that shapes() gives an output is the most it can need,
     * and variants allocate their outputs through args->memory. */
    bool sized_by_data;
    /* 1 + the index of an input whose ASCII letters may be any others, so that timed calls can have new ones; 0: none. The rows of
     * its columns (NAME.offsets, NAME.chars, NAME.validity, in this order) may come in any other order, alike in all columns. */
    int text;
    /* Names, dtypes and shapes of inputs and outputs for a case; data pointers stay NULL. An output that has an input's name, dtype
     * and shape is that array, updated in place; not with sized_by_data. */
    Status (*shapes)(const Case *problem, Array *in, Array *out);
    /* From arrays of the user's own (names, dtypes and shapes set; some may be missing: in[i].rank < 0) fill the parameters that
     * the shapes decide, such as n, or the presence of an array, such as whether there are weights. Errors name the array and what
     * was expected; a missing array that the op cannot do without is one. */
    Status (*adopt)(const Array *in, Case *problem);
    /* Input `index` as the seed makes it. `in` arrives filled: floating-point arrays from the case's family, others with zeros;
     * this overwrites or scales what the family should not decide, such as decay factors or masks. An array that a user left out,
     * and that adopt() allowed to be missing, is made by this too, from zeros. NULL: the arrays stay as they arrive. */
    Status (*generate)(const Case *problem, int index, Array *in);
    /* Values and tolerances for every output, parameters taken as the variants receive them. bound: index into bounds. It sees
     * the case and the inputs in the type that variants add up in (of f16 and bf16 in f32, case_sums() says what is rounded to);
     * verify/accumulate.h rounds to the outputs' type. */
    Status (*reference)(const Case *problem, const Array *in, int bound, Reference *out);
    /* Instead of reference(), for outputs that must be right to the byte: writes them into `out`, which has the room that shapes()
     * gave, and sets the first dimension of outputs sized by data. bound: index into bounds; each is an oracle of its own here. */
    Status (*exact)(const Case *problem, const Array *in, int bound, Array *out);
    Work (*work)(const Case *problem);
    /* Which bytes of its inputs any correct variant reads for this data: those that an output depends on. Data that spares reads
     * counts (a NaN that decides an output alone), data that has to be read to know it does not (constants). Never too many: a row
     * that is faster than the device moves their sectors and its outputs fails. bound: as for reference(). NULL: every byte. */
    void (*least_read)(const Case *problem, const Array *in, int bound, Reads *reads);
    /* Wrong definitions, by name, at most OP_MAX_WRONG, NULL last: what a slip makes of the op's own, such as a window of one
     * element more. A row says which of them its tolerances would let pass (verify/definitions.h). NULL: none. */
    const char *const *wrong;
    /* One element of an output by definition wrong[which], to 2^-50 of it. right: what reference() gave for all outputs.
     * False: it is no other definition there, or more would be needed to know its value. */
    bool (*wrong_value)(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                        double *value);
    /* Is the element a NaN or an infinity whatever the data, as that of an incomplete window is? NULL: none is. */
    bool (*is_incomplete)(const Case *problem, int output, size_t element);
    /* Does reference() call code that the user brought for this case? Then it runs in a worker, where it can crash or hang at its
     * own cost. NULL: never. */
    bool (*runs_user_code)(const Case *problem);
} Op;

/* The program finds its ops in this section, and their files, which must be called as the op is. */
typedef struct OpSource {
    const Op *op;
    const char *file;
} OpSource;

#define RUNGS_OP(op)                                                                                                               \
    extern const Op rungs_op_##op;                                                                                                 \
    static const OpSource rungs_op_source_##op = {&rungs_op_##op, __FILE__};                                                       \
    static const OpSource *const rungs_op_listed_##op __attribute__((section("rungs_ops"), used)) = &rungs_op_source_##op;         \
    const Op rungs_op_##op
