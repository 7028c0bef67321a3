/* Idea: no kernel of its own. A chain of a library's column functions, as one would write it without thinking of kernels:
 *     contains(visibilities, "public"), copy_if_else(names, "X X"), split, slice(second, 0, 1), concatenate(initials, first, " ").
 *   Each makes a whole new column: sizes and validity, offsets by a scan, a stop for the number of bytes, an allocation, the bytes.
 * Traffic: 27 kernels and 5 numbers to the host, which waits for each. Bytes of names are written four times over: as redacted names,
 *   words, initials and result. Words also pass through memory as 16 bytes of pointer and size each.
 * Rounding: none; bytes.
 * Limits: a column between two functions can have more bytes than its offsets count, although input and output fit; the function's
 *   name is in the error. Its functions say what is done, not the definition of the op: "public" anywhere in the visibility, words
 * between runs of blanks, names of one word become null. So it is held to the reference `api`.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the variant of libcudf's public functions. */
#include "common/strings/concatenate.cuh"
#include "common/strings/copy_if_else.cuh"
#include "common/strings/slice.cuh"
#include "common/strings/split.cuh"

/* The columns of a call; what a function replaced is released at once. */
template <typename O> struct Columns {
    BoolsColumn visible;
    StringsColumn<O> redacted, words[2], initials, result;
};

static void drop(const VariantArgs *args, BoolsColumn *column) {
    const StepRange step("release");
    bools_release(args, column);
}

template <typename O> static void drop(const VariantArgs *args, StringsColumn<O> *column) {
    const StepRange step("release");
    strings_release(args, column);
}

template <typename O> static Status chain(const VariantArgs *args, Columns<O> *made) {
    const StringsView<O> names = strings_input<O>(args, 0), visibilities = strings_input<O>(args, 3);
    TRY(strings_contains(args, visibilities, "public", &made->visible));
    TRY(strings_copy_if_else(args, names, "X X", made->visible.view(), &made->redacted));
    drop(args, &made->visible);
    TRY(strings_split(args, made->redacted.view(), 2, made->words));
    drop(args, &made->redacted);
    TRY(strings_slice(args, made->words[1].view(), 0, 1, &made->initials));
    drop(args, &made->words[1]);
    TRY(strings_concatenate(args, made->initials.view(), made->words[0].view(), " ", &made->result));
    strings_hand_over(args, 0, &made->result);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    Columns<O> made;
    const Status status = chain(args, &made);
    const StepRange step("release");
    bools_release(args, &made.visible);
    strings_release(args, &made.redacted);
    for (int c = 0; c < 2; c++) strings_release(args, &made.words[c]);
    strings_release(args, &made.initials);
    return status;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? run_typed<long long>(args) : run_typed<int>(args);
}

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

RUNGS_VARIANT(redact, cuda_api_pipeline) = {
    .backend = BACKEND_CUDA,
    .summary = "a library's column functions one after the other: contains, copy_if_else, split, slice, concatenate",
    .origin = "Wendt and Kimball 2022, libcudf's public functions",
    .tunables = TUNABLES,
    .bound = "api",
    .run = run,
};
