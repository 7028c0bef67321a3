/* split.cuh - the words of each row, one column for the first words, one for the second, and so on. */
#ifndef RUNGS_STRINGS_SPLIT_CUH
#define RUNGS_STRINGS_SPLIT_CUH

#include "common/strings/gather.cuh"

/* Runs of these separate words: the space and all control characters before it. */
static __device__ inline bool is_blank(unsigned char byte) {
    return byte <= ' ';
}

/* The next word of s, which loses it; without a pointer if there is none. */
static __device__ inline StringSpan split_word(StringSpan *s) {
    size_t begin = 0;
    while (begin < s->size && is_blank(s->bytes[begin])) begin++;
    size_t end = begin;
    while (end < s->size && !is_blank(s->bytes[end])) end++;
    const StringSpan word = {end > begin ? s->bytes + begin : nullptr, end - begin};
    *s = {s->bytes + end, s->size - end};
    return word;
}

/* words: those of column c at words[c * rows]. */
template <typename O>
static __global__ void __launch_bounds__(MAKE_THREADS) split_kernel(StringsView<O> strings, int columns, StringSpan *words) {
    const size_t row = (size_t)blockIdx.x * MAKE_THREADS + threadIdx.x;
    if (row >= strings.rows) return;
    StringSpan rest = {nullptr, 0};
    if (strings.valid(row)) rest = strings.span(row);
    for (int c = 0; c < columns; c++) words[c * strings.rows + row] = split_word(&rest);
}

/* out[c] has the word c of each row; null where a row has not so many, and in null rows. Words beyond the last column are left out.
 * On failure nothing stays allocated. */
template <typename O> Status strings_split(const VariantArgs *args, StringsView<O> strings, int columns, StringsColumn<O> *out) {
    const StepRange step("split");
    for (int c = 0; c < columns; c++) out[c] = StringsColumn<O>();
    StringSpan *words = nullptr;
    {
        const StepRange allocation("allocate");
        TRY(memory_allocate(args, strings.rows * (size_t)columns, &words));
    }
    Status status = STATUS_OK;
    if (strings.rows > 0) status = launch(split_kernel<O>, make_shape(args, strings.rows), strings, columns, words);
    for (int c = 0; c < columns && status == STATUS_OK; c++)
        status = strings_gather_spans(args, words + (size_t)c * strings.rows, strings.rows, &out[c]);
    const StepRange end("release");
    memory_release(args, &words);
    for (int c = 0; c < columns && status != STATUS_OK; c++) strings_release(args, &out[c]);
    return status;
}

#endif
