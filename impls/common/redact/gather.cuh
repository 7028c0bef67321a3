/* gather.cuh - rows that lie anywhere, and their sizes, become a column: offsets from the tiles' sums, bytes copied. A thread has a
 * row. */
#ifndef RUNGS_REDACT_GATHER_CUH
#define RUNGS_REDACT_GATHER_CUH

#include "common/redact/case.cuh"

/* Source: const unsigned char *operator()(size_t row) const, where a row's bytes lie; asked only for rows that have some. */
template <typename O, typename Source>
static __global__ void __launch_bounds__(OFFSETS_THREADS)
    redact_gather_kernel(OffsetsTiles tiles, const O *sizes, Source source, StringsColumn<O> out) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    unsigned long long base = tiles.tiles ? tiles.sums[blockIdx.x] : 0;
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round), size = row < tiles.rows ? (size_t)sizes[row] : 0;
        const unsigned long long begin = offsets_before(size, totals, &base);
        offsets_store(tiles, row, begin, size, out.offsets);
        if (size > 0) string_copy(out.chars + begin, {source(row), size});
    }
}

template <typename O, typename Source>
static Status redact_gather(const VariantArgs *args, const OffsetsTiles &tiles, const O *sizes, Source source,
                            StringsColumn<O> *out) {
    return launch(redact_gather_kernel<O, Source>, offsets_shape(args, tiles), tiles, sizes, source, *out);
}

#endif
