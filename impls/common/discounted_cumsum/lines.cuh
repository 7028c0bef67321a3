/* lines.cuh - how the block scans of discounted_cumsum and of its gradient cut rows into lines, and how a thread reads and writes a
 * vector of 16 bytes of a line. scan.cuh cuts lines further, into strips and tiles.
 *
 * A line is a contiguous run of elements: a row, several short rows, or a part of a row. Positions count along it in the order of
 * the scan. Vectors are aligned in memory: the first and the last may hold elements outside the line, which are neither read nor
 * written. */
#pragma once

#include "common/affine.cuh"
#include "common/discounted_cumsum/case.cuh"

template <typename T> struct VectorOf { static constexpr unsigned LENGTH = 16 / sizeof(T); };

/* A line in vectors of LENGTH elements; BACKWARD: positions grow as addresses fall. */
template <unsigned LENGTH, bool BACKWARD> struct DiscountLine {
    long long begin, end; /* elements of the line, as flat indices */

    /* Flat index of the lowest element of the vector at `position`, which is a multiple of LENGTH. */
    __device__ long long first(size_t position) const {
        const long long step = LENGTH;
        return BACKWARD ? (end + step - 1) / step * step - (long long)position - step : begin / step * step + (long long)position;
    }
    __device__ bool holds(long long flat) const { return flat >= begin && flat < end; }
    __device__ bool holds_all(long long low) const { return low >= begin && low + (long long)LENGTH <= end; }
    /* Flat index of element k of the vector in the order of the scan. */
    static __device__ long long at(long long low, unsigned k) { return low + (BACKWARD ? LENGTH - 1 - k : k); }

    template <typename E> __device__ void load(const E *from, long long low, bool packed, E otherwise, E (&out)[LENGTH]) const {
        if (packed && holds_all(low)) {
            const Pack<E, LENGTH> pack = *(const Pack<E, LENGTH> *)(from + low);
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) out[k] = pack.at[BACKWARD ? LENGTH - 1 - k : k];
        } else {
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) out[k] = holds(at(low, k)) ? from[at(low, k)] : otherwise;
        }
    }
    template <typename E> __device__ void store(E *to, long long low, bool packed, const E (&in)[LENGTH]) const {
        if (packed && holds_all(low)) {
            Pack<E, LENGTH> pack;
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) pack.at[BACKWARD ? LENGTH - 1 - k : k] = in[k];
            pack_store(pack, to + low);
        } else {
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++)
                if (holds(at(low, k))) to[at(low, k)] = in[k];
        }
    }
};

/* Positions that a line of `count` elements takes when it may begin anywhere; aligned: at multiples of the vector only. */
static inline size_t line_positions(size_t count, unsigned length, bool aligned) {
    return aligned ? divide_up(count, length) * length : divide_up(count + length - 1, length) * length;
}

/* Lines of all rows: `rows` whole rows to a line, or (segment > 0) a row in lines of `segment` elements, counted in the direction
 * of the sums. */
struct DiscountLines {
    size_t batch, n, rows, segment;
    bool right; /* direction of the sums */

    __host__ __device__ size_t segments() const { return segment == 0 ? 1 : (n + segment - 1) / segment; }
    __host__ __device__ size_t count() const { return segment == 0 ? (batch + rows - 1) / rows : batch * segments(); }
    __host__ __device__ size_t longest() const { return segment == 0 ? rows * n : segment < n ? segment : n; }

    template <unsigned LENGTH, bool BACKWARD> __device__ DiscountLine<LENGTH, BACKWARD> line(size_t index) const {
        if (segment == 0) {
            const size_t first = index * rows, last = first + rows < batch ? first + rows : batch;
            return {(long long)(first * n), (long long)(last * n)};
        }
        const size_t row = index / segments(), from = index % segments() * segment, to = from + segment < n ? from + segment : n;
        return {(long long)(row * n + (right ? n - to : from)), (long long)(row * n + (right ? n - from : to))};
    }
    __device__ size_t first_row(size_t index) const { return segment == 0 ? index * rows : index / segments(); }
};

/* Are all arrays aligned for loads and stores of 16 bytes? */
static inline bool discount_is_packed(const VariantArgs *args) {
    uintptr_t all = 0;
    for (int i = 0; i < args->in_count; i++) all |= (uintptr_t)args->in[i].data;
    for (int i = 0; i < args->out_count; i++) all |= (uintptr_t)args->out[i].data;
    return all % 16 == 0;
}

/* x and the factors of a vector, in the order of the scan. Elements outside of the line are identities; the factor of the first
 * element of a row (in the direction of the sums) and of every reset is a cut. */
template <typename T> struct DiscountItems {
    static constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    T x[LENGTH], factor[LENGTH];
};

/* A step of the recurrence. */
template <typename T> __device__ T discount_step(T factor, T carried, T x) {
    return affine_is_cut(factor) ? x : factor * carried + x;
}

/* Reads the items of a vector. BACKWARD is the order of this scan; view and lines know that of the sums. */
template <typename T, bool BACKWARD> struct DiscountReader {
    static constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef DiscountLine<LENGTH, BACKWARD> Line;
    DiscountView<T> view;
    DiscountLines lines;
    bool packed;
    Line line;
    size_t row; /* the line's first */
    T common;   /* its factor, unless every element has its own */

    __device__ void begin(size_t index) {
        line = lines.line<LENGTH, BACKWARD>(index);
        row = lines.first_row(index);
        common = view.gamma_per == DISCOUNT_GAMMA_ELEMENT ? 1 : affine_factor(view.factor(row, 0));
    }
    __device__ DiscountItems<T> load(size_t position) const {
        DiscountItems<T> items;
        const long long low = line.first(position);
        line.load(view.x, low, packed, (T)0, items.x);
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) items.factor[k] = common;
        if (view.gamma_per == DISCOUNT_GAMMA_ELEMENT) line.load(view.gamma, low, packed, (T)1, items.factor);
        unsigned char reset[LENGTH] = {};
        if (view.reset) line.load(view.reset, low, packed, (unsigned char)0, reset);
        if (lines.segment == 0 && lines.rows > 1) {
            many_rows(low, reset, items.factor);
        } else {
            const long long first = (long long)(row * view.n) + (lines.right ? (long long)view.n - 1 : 0);
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) reset[k] |= Line::at(low, k) == first;
        }
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            items.factor[k] = reset[k] ? affine_cut<T>() : affine_factor(items.factor[k]);
            if (!line.holds(Line::at(low, k))) items.factor[k] = 1;
        }
        return items;
    }

  private:
    /* Rows of less than a tile: 32 bits do. One division finds the row of the vector's first element, the others follow. */
    __device__ void many_rows(long long low, unsigned char (&reset)[LENGTH], T (&factor)[LENGTH]) const {
        const unsigned n = (unsigned)view.n, first = lines.right ? n - 1 : 0,
                       offset = low > line.begin ? (unsigned)(low - line.begin) : 0;
        unsigned skipped = offset / n, column = offset - skipped * n;
#pragma unroll
        for (unsigned j = 0; j < LENGTH; j++) { /* as they lie in memory */
            const unsigned k = BACKWARD ? LENGTH - 1 - j : j;
            if (!line.holds(low + j)) continue;
            if (view.gamma_per == DISCOUNT_GAMMA_ROW) factor[k] = view.gamma[row + skipped];
            reset[k] |= column == first;
            if (++column == n) {
                column = 0;
                skipped++;
            }
        }
    }
};
