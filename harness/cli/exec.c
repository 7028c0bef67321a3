/* rungs exec: one variant on the user's own files, through the same worker, guards and reference as every other run. */
#include "base/joined.h"
#include "base/npy.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/poison.h"
#include "base/text.h"
#include "cli/cases.h"
#include "cli/columns.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/options.h"
#include "device/child.h"
#include "device/device.h"
#include "device/sandbox.h"
#include "pipeline/evaluate.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What was given, as a case: parameters, tunables, and the user's files as its arrays. */

typedef struct Exec {
    Pairs in, out, set;
    Columns columns;
    const char *dtype; /* --set dtype=..., or NULL */
    bool check, emulate, sandbox;
    int declared_bounds; /* 0: strict */
    RunOptions options;
    const char *in_dtype[PAIRS_MAX]; /* that --in NAME:DTYPE=FILE names; NULL: none */
    const Op *op;
    VariantChoice choice;
    Case problem;
    Array own[OP_MAX_ARRAYS]; /* the user's inputs as read; data is ours to free */
    Array in_shapes[OP_MAX_ARRAYS], out_shapes[OP_MAX_ARRAYS];
} Exec;

static Status known_array(const char *option, const char *name, const Array *arrays, int count, int *index) {
    const char *names[OP_MAX_ARRAYS];
    for (int i = 0; i < count; i++) {
        names[i] = arrays[i].name;
        if (strcmp(arrays[i].name, name) != 0) continue;
        *index = i;
        return STATUS_OK;
    }
    return text_fail_listing(text_nearest(name, names, count), "known", names, count, "--%s %s=...: there is no such array", option,
                             name);
}

static bool is_one_of(DType dtype, const DType *dtypes) {
    while (*dtypes != DTYPE_COUNT && *dtypes != dtype) dtypes++;
    return *dtypes == dtype;
}

enum { DTYPES_MAX = 160 };

/* The dtypes of an op, by NumPy's names: "float64, float32 or float16". */
static char *list_dtypes(const DType *dtypes, char text[DTYPES_MAX]) {
    size_t used = 0;
    for (const DType *dtype = dtypes; *dtype != DTYPE_COUNT && used < DTYPES_MAX; dtype++) {
        const char *before = dtype == dtypes ? "" : dtype[1] == DTYPE_COUNT ? " or " : ", ";
        used += (size_t)snprintf(text + used, DTYPES_MAX - used, "%s%s", before, dtype_numpy(*dtype));
    }
    return text;
}

/* The name that the user gave: parts of a column lie in temporary files. */
static const char *name_as_given(const Exec *e, const Pairs *pairs, int k) {
    return columns_own(&e->columns, pairs->values[k]) ? pairs->names[k] : pairs->values[k];
}

/* --in x:bf16=FILE: what the file holds, where its header has no name for it. */
static Status take_dtypes(Exec *e) {
    for (int k = 0; k < e->in.count; k++) {
        char *colon = strchr(e->in.names[k], ':');
        DType dtype;
        if (!colon) continue;
        *colon = '\0';
        if (!dtype_parse(colon + 1, &dtype))
            return status_fail(STATUS_INVALID, "--in %s:%s=...: a dtype is expected behind the colon, such as bf16 or e4m3",
                               e->in.names[k], colon + 1);
        e->in_dtype[k] = dtype_name(dtype);
    }
    return STATUS_OK;
}

/* NumPy drops the names of ml_dtypes' types: the case or the option says them. */
static Status check_name(const Exec *e, int k, const char *file, DType dtype) {
    const char *name = dtype_name(dtype), *given = e->in_dtype[k] ? e->in_dtype[k] : e->dtype;
    const bool nameless = dtype == DTYPE_BF16 || dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2;
    if (given && strcmp(given, name) != 0 && (e->in_dtype[k] || nameless))
        return status_fail(STATUS_INVALID, "%s: dtype %s, but %s says %s", file, name, e->in_dtype[k] ? "--in" : "--set dtype",
                           given);
    if (nameless && !given)
        return status_fail(STATUS_INVALID,
                           "%s: dtype '%s' has no name; if it is ml_dtypes' %s, write --in %s:%s=... or add --set dtype=%s", file,
                           dtype_npy(dtype), dtype_numpy(dtype), e->in.names[k], name, name);
    return STATUS_OK;
}

/* Bits, as PyTorch's view(torch.uint16) gives them to NumPy: --in says what they are. */
static DType named_bits(const Exec *e, int k, DType dtype) {
    DType given;
    if (dtype != DTYPE_U8 && dtype != DTYPE_U16) return dtype;
    if (!e->in_dtype[k] || !dtype_parse(e->in_dtype[k], &given) || !dtype_is_narrow(given)) return dtype;
    return dtype_size(given) == dtype_size(dtype) ? given : dtype;
}

static Status read_inputs(Exec *e) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) e->own[i].rank = -1;
    const char *decided_by = NULL;
    const DType *dtypes = case_dtypes(e->op);
    char expected[DTYPES_MAX];
    for (int k = 0; k < e->in.count; k++) {
        int i = 0;
        TRY(known_array("in", e->in.names[k], e->in_shapes, e->op->in_count, &i));
        if (e->own[i].rank >= 0) return status_fail(STATUS_INVALID, "--in %s: given twice", e->in.names[k]);
        const char *file = name_as_given(e, &e->in, k);
        TRY(npy_read(e->in.values[k], &e->own[i]));
        memcpy(e->own[i].name, e->in_shapes[i].name, sizeof e->own[i].name);
        if (e->own[i].dtype == DTYPE_BOOL && e->in_shapes[i].dtype == DTYPE_U8) e->own[i].dtype = DTYPE_U8; /* a mask */
        const DType dtype = e->own[i].dtype = named_bits(e, k, e->own[i].dtype);
        TRY(check_name(e, k, file, dtype));
        if (e->in_shapes[i].dtype != dtypes[0]) { /* a mask or characters, say: of one dtype in every case */
            if (dtype == e->in_shapes[i].dtype) continue;
            return status_fail(STATUS_INVALID, "%s: dtype %s; %s is expected of '%s'", file, dtype_name(dtype),
                               dtype_name(e->in_shapes[i].dtype), e->in_shapes[i].name);
        }
        if (!is_one_of(dtype, dtypes))
            return status_fail(STATUS_INVALID, "%s: dtype %s; %s is expected", file, dtype_name(dtype),
                               list_dtypes(dtypes, expected));
        /* Of a case of f16, bf16 or fp8 some arrays are f32: the op says which. */
        const DType before = e->problem.dtype;
        if (decided_by && dtype_is_narrow(before) != dtype_is_narrow(dtype) && (before == DTYPE_F32 || dtype == DTYPE_F32)) {
            if (dtype_is_narrow(dtype)) e->problem.dtype = dtype;
            continue;
        }
        if (decided_by && e->problem.accumulate && dtype != before &&
            (dtype == case_sums(&e->problem) || before == case_sums(&e->problem))) {
            if (dtype != case_sums(&e->problem)) e->problem.dtype = dtype;
            continue;
        }
        if (decided_by && dtype != before)
            return status_fail(STATUS_INVALID, "%s: dtype %s, but %s is %s; all inputs must be of one dtype%s", file,
                               dtype_name(dtype), decided_by, dtype_name(before),
                               dtype_is_narrow(before) ? ", or f32 where that is the type of sums" : "");
        e->problem.dtype = dtype;
        decided_by = file;
    }
    if (e->dtype && decided_by && strcmp(e->dtype, dtype_name(e->problem.dtype)) != 0)
        return status_fail(STATUS_INVALID, "--set dtype=%s, but %s is %s", e->dtype, decided_by, dtype_name(e->problem.dtype));
    return STATUS_OK;
}

static Status check_outputs(const Exec *e) {
    for (int k = 0; k < e->out.count; k++) {
        int i = 0;
        TRY(known_array("out", e->out.names[k], e->out_shapes, e->op->out_count, &i));
        if (!registry_gives(e->choice.entry, e->out.names[k]))
            return status_fail(STATUS_INVALID, "--out %s=...: %s has no such output", e->out.names[k], e->choice.entry->id);
        for (int j = 0; j < k; j++)
            if (output_same(e->out.values[j], e->out.values[k]))
                return status_fail(STATUS_INVALID, "--out %s=%s and --out %s=%s: each output needs its own file", e->out.names[j],
                                   e->out.values[j], e->out.names[k], e->out.values[k]);
    }
    return STATUS_OK;
}

/* Before columns replace the user's file names by temporary ones. A file may also be the value of a parameter. */
static Status spare_inputs(const Exec *e) {
    for (int k = 0; k < e->out.count; k++) {
        for (int i = 0; i < e->in.count; i++) TRY(files_spare("--out", e->out.values[k], e->in.values[i]));
        for (int i = 0; i < e->set.count; i++) TRY(files_spare("--out", e->out.values[k], e->set.values[i]));
    }
    return STATUS_OK;
}

static Status set_dtype(Exec *e, const char *word) {
    DType dtype;
    char expected[DTYPES_MAX];
    if (!dtype_parse(word, &dtype) || !is_one_of(dtype, case_dtypes(e->op)))
        return status_fail(STATUS_INVALID, "--set dtype=%s: %s is expected", word, list_dtypes(case_dtypes(e->op), expected));
    e->dtype = dtype_name(dtype);
    return STATUS_OK;
}

/* Each --set is a parameter of the op, a tunable of the variant, or the dtype of the inputs. */
static Status set_parameters(Exec *e) {
    for (int k = 0; k < e->set.count; k++) {
        const char *name = e->set.names[k];
        if (strcmp(name, "dtype") == 0) {
            TRY(set_dtype(e, e->set.values[k]));
            continue;
        }
        if (strcmp(name, "accumulate") == 0 && !params_has(&e->choice.tunables, name) && case_has(&e->problem, name)) {
            TRY(case_set(e->op, &e->problem, name, e->set.values[k]));
            continue;
        }
        const bool tunable = params_has(&e->choice.tunables, name) && !params_has(&e->problem.params, name);
        TRY(params_set(tunable ? &e->choice.tunables : &e->problem.params, name, e->set.values[k]));
    }
    return STATUS_OK;
}

/* Lets the arrays decide the sizes; a size given with --set must agree. */
static Status adopt(Exec *e) {
    Case adopted = e->problem;
    const Status status = e->op->adopt(e->own, &adopted);
    if (status != STATUS_OK)
        return e->in.count == 1 && e->own[0].rank >= 0 ? status_prefix(status, "%s: ", e->in.values[0]) : status;
    for (int k = 0; k < e->set.count; k++) {
        const char *name = e->set.names[k];
        if (!params_has(&adopted.params, name)) continue;
        for (int i = 0; i < e->in.count; i++)
            if (strcmp(e->in.names[i], name) == 0)
                return status_fail(STATUS_INVALID, "--set %s=%s and --in %s=%s: give only one of the two", name, e->set.values[k],
                                   name, e->in.values[i]);
        if (strcmp(params_text(&adopted.params, name), params_text(&e->problem.params, name)) != 0)
            return status_fail(STATUS_INVALID, "--set %s=%s, but the inputs say %s=%s", name, e->set.values[k], name,
                               params_text(&adopted.params, name));
    }
    e->problem = adopted;
    return case_complete(e->op, &e->problem);
}

/* Fills in the variant named `id`, its case and the inputs as they were read, from in, out and set. Free own[].data and close the
 * columns, whatever it returns. */
static Status prepare(Exec *e, const char *id) {
    const JoinedVariant *joined = joined_find(id);
    TRY(registry_require_variant(joined ? joined->today : id, &e->choice.entry));
    TRY(registry_require_op(e->choice.entry->op, &e->op));
    TRY(modules_need_one(e->choice.entry));
    if (e->choice.entry->variant->error) return status_fail(STATUS_INVALID, "%s", e->choice.entry->variant->error);
    TRY(params_init(e->choice.entry->variant->tunables, &e->choice.tunables));
    if (joined) TRY(params_set(&e->choice.tunables, joined->tunable, joined->value));
    TRY(case_init(e->op, &e->problem));
    snprintf(e->problem.input, sizeof e->problem.input, "own");
    TRY(take_dtypes(e));
    TRY(spare_inputs(e));
    TRY(set_parameters(e));
    TRY(case_check_function(&e->problem));
    Case named = e->problem;
    named.accumulate = 0;                                    /* it may hang on sizes, which the inputs say */
    TRY(e->op->shapes(&named, e->in_shapes, e->out_shapes)); /* for the names */
    TRY(columns_open(&e->columns, (ColumnSide){e->in_shapes, e->op->in_count, &e->in},
                     (ColumnSide){e->out_shapes, e->op->out_count, &e->out}, e->dtype));
    TRY(read_inputs(e));
    TRY(check_outputs(e));
    return adopt(e);
}

/* ---- --check. */

/* One output against the op's own bound and, if that does not verify it, against the looser one that the variant declares. */
typedef struct Checked {
    Judgement own, last; /* last: under `bound` */
    int bound;           /* index into the op's bounds */
} Checked;

static bool verified(const Judgement *judgement) {
    return judgement->pass && judgement->judgeable;
}

/* Those that --out names; all that the case has and the variant gives if it names none. */
static bool asked_for(const Exec *e, const Instance *instance, int index) {
    const char *output = instance->out[index].name;
    for (int k = 0; k < e->out.count; k++)
        if (strcmp(e->out.names[k], output) == 0) return true;
    return e->out.count == 0 && registry_gives(e->choice.entry, output) && !instance_leaves_out(instance, index);
}

/* The bound that the variant declares, where it is not the op's own; else 0. */
static int declared_bound(const Exec *e, const Instance *instance) {
    const int bound = instance_bound(instance, e->choice.entry->variant->bound);
    return bound > 0 ? bound : 0;
}

/* Bounds of exact ops are not looser than each other: the variant's own is used, as in rows. */
static Status judge(const Exec *e, Instance *instance, int index, Checked *out) {
    const int declared = declared_bound(e, instance);
    out->bound = instance->op->exact ? declared : 0;
    TRY(judge_output(instance, DATA_FIRST, out->bound, index, &out->own));
    out->last = out->own;
    if (verified(&out->own) || !e->declared_bounds || out->bound == declared) return STATUS_OK;
    out->bound = declared;
    TRY(judge_output(instance, DATA_FIRST, declared, index, &out->last));
    return STATUS_OK;
}

/* "; not judgeable: 0.3% of its elements"; "" for an exact output, or if the message of the judgement says it. */
static const char *share_not_judgeable(const Instance *instance, const Judgement *judgement, char text[64]) {
    text[0] = '\0';
    if (!instance->op->exact && (judgement->judgeable || !judgement->pass))
        snprintf(text, 64, "; not judgeable: %.3g%% of its elements", 100 * judgement->vacuous);
    return text;
}

static void print_verified(const Exec *e, const Instance *instance, int index, const Checked *checked) {
    const char *name = instance->out[index].name, *bound = instance->op->bounds[checked->bound].name;
    char share[64];
    if (array_count(&instance->given[index]) == 0) {
        printf("check: %s has no elements\n", name);
        return;
    }
    printf("check: %s passes: %s%s\n", name, checked->last.words, share_not_judgeable(instance, &checked->last, share));
    if (checked->bound == 0 || instance->op->exact) return;
    printf("check: %s passes only under '%s', the looser bound that %s declares. Under the op's own: %s%s\n", name, bound,
           e->choice.entry->id, checked->own.words, share_not_judgeable(instance, &checked->own, share));
}

static Status not_verified(const Exec *e, const Instance *instance, const Checked *checked) {
    const Bound *bounds = instance->op->bounds, *bound = &bounds[checked->bound];
    const int declared = declared_bound(e, instance);
    char share[64], hint[256] = "";
    if (checked->last.pass) snprintf(hint, sizeof hint, ". Use f64 if this is f32, or leave out --check");
    if (declared != checked->bound)
        snprintf(hint, sizeof hint, ". %.80s declares a looser bound, '%.40s': --bounds declared verifies by that too",
                 e->choice.entry->id, bounds[declared].name);
    return status_fail(STATUS_CHECK, "check failed: %s%s (bound '%s': %s); nothing was written%s", checked->last.words,
                       share_not_judgeable(instance, &checked->last, share), bound->name, bound->formula, hint);
}

/* Compares every output that was asked for. wrong: the first that is not verified; -1: none. */
static Status judge_all(const Exec *e, Instance *instance, Checked *checked, int *wrong, bool *undecided) {
    for (int i = 0; i < instance->op->out_count; i++) {
        if (!asked_for(e, instance, i)) continue;
        TRY(judge(e, instance, i, &checked[i]));
        if (checked[i].last.undecided) *undecided = true;
        if (*wrong < 0 && !verified(&checked[i].last)) *wrong = i;
    }
    return STATUS_OK;
}

static Status report_checked(const Exec *e, const Instance *instance, const Checked *checked, int wrong) {
    bool used[INSTANCE_MAX_BOUNDS] = {0};
    for (int i = 0; i < instance->op->out_count; i++) {
        if (!asked_for(e, instance, i) || i == wrong) continue;
        if (!verified(&checked[i].last)) {
            printf("check: %s is not verified: %s\n", instance->out[i].name, checked[i].last.words);
            continue;
        }
        print_verified(e, instance, i, &checked[i]);
        used[checked[i].bound] = true;
    }
    for (int i = 0; i < INSTANCE_MAX_BOUNDS; i++)
        if (used[i]) printf("check: the bound '%s': %s\n", instance->op->bounds[i].name, instance->op->bounds[i].formula);
    return wrong < 0 ? STATUS_OK : not_verified(e, instance, &checked[wrong]);
}

static Status ask_worker(const Exec *e, const Session *session) {
    Child *child = NULL;
    Status status = session_start(session, e->options.timeout_seconds, &child);
    RunReply ran;
    if (status == STATUS_OK) status = session_open(session, child, e->options.timeout_seconds, NULL);
    if (status == STATUS_OK) status = session_run(session, DATA_FIRST, child, e->options.timeout_seconds, &ran);
    if (status == STATUS_OK) status = child_end(child, e->options.timeout_seconds);
    child_stop(child);
    return status;
}

/* With --check as rows are verified: from each poison. */
static Status ask_and_check(const Exec *e, const Session *session) {
    static Checked checked[OP_MAX_ARRAYS];
    Instance *instance = session->instance;
    const int least = e->check && sees_poison(session) ? POISON_PATTERNS : 1;
    bool undecided = false;
    int wrong = -1;
    for (int p = 0; wrong < 0 && (p < least || (p == 1 && undecided)); p++) {
        instance->poison = p;
        TRY(ask_worker(e, session));
        if (e->check) TRY(judge_all(e, instance, checked, &wrong, &undecided));
    }
    return e->check ? report_checked(e, instance, checked, wrong) : STATUS_OK;
}

/* The user's arrays, and what the op makes of those that were left out: one factor from a parameter, an empty mask. More than that
 * would be random, which is not what anybody means beside data of their own. */
static Status fill_inputs(const Exec *e, Instance *instance) {
    for (int i = 0; i < e->op->in_count; i++) {
        Array *in = &instance->in[DATA_FIRST][i];
        if (e->own[i].rank < 0) {
            char wanted[128];
            if (array_count(in) > 1)
                return status_fail(STATUS_INVALID, "input '%s' is missing: these settings need --in %s=FILE.npy, %s", in->name,
                                   in->name, array_describe(in, wanted, sizeof wanted));
            if (array_bytes(in) > 0) memset(in->data, 0, array_bytes(in));
            if (e->op->generate) TRY(e->op->generate(&e->problem, i, in));
            continue;
        }
        char given[128], expected[128];
        if (array_bytes(&e->own[i]) != array_bytes(in))
            return status_fail(STATUS_INVALID, "input '%s' is %s; the other inputs require %s", in->name,
                               array_describe(&e->own[i], given, sizeof given), array_describe(in, expected, sizeof expected));
        if (array_bytes(in) > 0) memcpy(in->data, e->own[i].data, array_bytes(in));
    }
    return STATUS_OK;
}

static Status expect_outputs(const Exec *e, const Instance *instance) {
    for (int k = 0; k < e->out.count; k++) {
        const Array *out = array_find(instance->out, e->op->out_count, e->out.names[k]);
        if (instance_leaves_out(instance, (int)(out - instance->out)))
            return status_fail(STATUS_INVALID, "--out %s=%s: this case has no such output; a parameter of %s decides it",
                               e->out.names[k], e->out.values[k], e->op->name);
    }
    return STATUS_OK;
}

static bool same_shape(const Array *a, const Array *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

/* x[n], where the op wants x[1, n], comes back as y[n]: an output that has the shape of an input has it as the user gave it. */
static Array shaped_as_given(const Exec *e, const Instance *instance, const Array *out) {
    Array array = *out;
    for (int i = 0; i < e->op->in_count; i++) {
        const Array *own = &e->own[i];
        if (own->rank < 0 || !same_shape(&instance->in[DATA_FIRST][i], out)) continue;
        array.rank = own->rank;
        memcpy(array.shape, own->shape, sizeof array.shape);
        break;
    }
    return array;
}

static Status execute(Exec *e) {
    Instance instance;
    TRY(instance_create(e->op, &e->problem, &instance));
    instance.own_data = true;
    char reason[REASON_MAX];
    const bool cuda = e->choice.entry->backend == BACKEND_CUDA, emulated = cuda && e->emulate;
    const Session session = {
        .choice = &e->choice, .problem = &e->problem, .options = &e->options, .emulated = emulated, .instance = &instance};
    instance_allow(e->options.timeout_seconds);
    Status status = fill_inputs(e, &instance);
    if (status == STATUS_OK) status = expect_outputs(e, &instance);
    if (status == STATUS_OK) status = session_refused(&session);
    supports_close();
    if (status == STATUS_OK && cuda && !emulated && device_cuda_count(reason, sizeof reason) == 0)
        status = status_fail(STATUS_UNSUPPORTED, "no GPU: %s; --emulate runs the kernel on the CPU", reason);
    if (status == STATUS_OK) status = ask_and_check(e, &session);
    for (int k = 0; k < e->out.count && status == STATUS_OK; k++) {
        const Array array = shaped_as_given(e, &instance, array_find(instance.given, e->op->out_count, e->out.names[k]));
        char shape[128];
        const bool part = columns_own(&e->columns, e->out.values[k]);
        status = npy_write(e->out.values[k], &array);
        if (part && status != STATUS_OK)
            status = status_fail(STATUS_IO, "%s: a temporary file cannot be written in the folder of TMPDIR", e->out.names[k]);
        if (status == STATUS_OK && !part)
            printf("%s: %s%s\n", e->out.values[k], array_describe(&array, shape, sizeof shape), emulated ? " (emulated)" : "");
    }
    instance_destroy(&instance);
    return status == STATUS_OK ? columns_write(&e->columns) : status;
}

int command_exec(int argc, char **argv) {
    static Exec e;
    e.options = run_options_default();
    e.options.timeout_seconds = 600;
    const CliOption OPTIONS[] = {
        {"in", "NAME=FILE.npy", CLI_PAIRS, &e.in,
         "an input in C order, of a dtype that the op accepts (NAME:bf16=FILE says that of ml_dtypes' files and of bits as "
         "unsigned integers); repeat per input. A "
         "string column: FILE.arrow or FILE.csv, and :COLUMN"},
        {"set", "NAME=VALUE", CLI_PAIRS, &e.set, "an op parameter, a tunable, or dtype; repeatable"},
        {"out", "NAME=FILE.npy", CLI_PAIRS, &e.out, "file for an output; a string column: FILE.arrow"},
        {"check", NULL, CLI_FLAG, &e.check,
         "verify every output of --out (all if there is none) first; if one is outside the op's own bound or cannot be judged, "
         "nothing is written: exit 1"},
        {"bounds", "strict|declared", CLI_CHOICE, &e.declared_bounds,
         "declared: --check also accepts the looser bound that the variant declares, if it does (default strict)"},
        {"emulate", NULL, CLI_FLAG, &e.emulate, "run a CUDA variant on the CPU, in the emulator"},
        {"sandbox", NULL, CLI_FLAG, &e.sandbox, "the worker in a sandbox (bubblewrap), as `rungs try` has it"},
        {"device", "N", CLI_COUNT, &e.options.device, "CUDA device"},
        {"timeout", "TIME", CLI_DURATION, &e.options.timeout_seconds, "(default 10m)"},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("exec", "OP/VARIANT --in NAME=FILE --out NAME=FILE [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count != 1) code = cli_usage("exec", "expected exactly one OP/VARIANT, got %d arguments", count);
    if (code == 0 && e.declared_bounds && !e.check) code = cli_usage("exec", "--bounds needs --check");
    if (code == 0 && e.out.count == 0 && !e.check) code = cli_usage("exec", "nothing to do: give --out NAME=FILE or --check");
    if (code == 0) {
        Status status = threads_check();
        if (e.emulate) modules_emulate(MODULE_ASAN);
        if (status == STATUS_OK && e.sandbox) status = sandbox_use();
        if (status == STATUS_OK) status = prepare(&e, words[0]);
        if (status == STATUS_OK) status = execute(&e);
        if (status == STATUS_UNSUPPORTED) {
            fprintf(stderr, "skip: %s\n", status_message());
            code = EXIT_MACHINE;
        } else if (status != STATUS_OK) {
            code = cli_fail(status);
        }
        columns_close(&e.columns);
        for (int i = 0; i < OP_MAX_ARRAYS; i++) free(e.own[i].data);
    }
    return code;
}
