/* mma.h - matrices of a warp (nvcuda::wmma) for the emulator, of the types of 8 to 64 bits. A lane keeps of A the rows, of B the
 * columns, that are lane / 4 modulo 8, and of those each fourth element; of the accumulator what mma.sync gives it. Products are
 * exact, sums in double: how hardware rounds is its own matter. */
#pragma once

#include "emulator/cuda.h"

#include <cstdint>
#include <cstring>

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

template <typename T> struct emulator_element {
    using storage = T;
    static double number(T value) { return (double)value; }
};
template <> struct emulator_element<__half> {
    using storage = __half;
    static double number(__half value) { return __half2float(value); }
};
template <> struct emulator_element<__nv_bfloat16> {
    using storage = __nv_bfloat16;
    static double number(__nv_bfloat16 value) { return __bfloat162float(value); }
};
static inline float emulator_tf32(float value, uint32_t half) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + half) & 0xffffe000u;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
template <> struct emulator_element<precision::tf32> {
    using storage = float;
    static double number(float value) { return emulator_tf32(value, 0); }
};
static inline float __float_to_tf32(float value) {
    return emulator_tf32(value, 0x1000);
}

template <typename Use, int m, int n, int k, typename T, typename Layout = void> struct fragment {
    static constexpr bool is_a = std::is_same<Use, matrix_a>::value, is_b = std::is_same<Use, matrix_b>::value;
    static constexpr int rows = is_b ? k : m, columns = is_a ? k : n, num_elements = rows * columns / 32;
    static constexpr int num_storage_elements = num_elements;
    static constexpr bool by_rows = std::is_same<Layout, row_major>::value;
    using element_type = T;
    using storage_element_type = typename emulator_element<T>::storage;
    storage_element_type x[num_elements];

    static int row(int i) {
        const int lane = (int)emulator_lane();
        return is_a ? 8 * (i / (k / 4)) + lane / 4 : is_b ? 4 * (i % (k / 4)) + lane % 4 : 8 * (i / 2 % (m / 8)) + lane / 4;
    }
    static int column(int i) {
        const int lane = (int)emulator_lane();
        return is_a   ? 4 * (i % (k / 4)) + lane % 4
               : is_b ? 8 * (i / (k / 4)) + lane / 4
                      : 8 * (i / 2 / (m / 8)) + 2 * (lane % 4) + i % 2;
    }
    static size_t at(int i, size_t stride, bool by_rows) {
        return by_rows ? (size_t)row(i) * stride + (size_t)column(i) : (size_t)column(i) * stride + (size_t)row(i);
    }
    /* What another lane has. */
    fragment of(int lane, EmulatorSite site) const {
        constexpr size_t count = (sizeof x + 7) / 8;
        unsigned long long words[count] = {};
        memcpy(words, x, sizeof x);
        for (unsigned long long &word : words) word = __shfl_sync(~0u, word, lane, 32, site);
        fragment other;
        memcpy(other.x, words, sizeof x);
        return other;
    }
};

template <typename Fragment> static inline void fill_fragment(Fragment &to, const typename Fragment::storage_element_type &value) {
    for (auto &element : to.x) element = value;
}
template <typename Fragment>
static inline void load_matrix_sync(Fragment &to, const typename Fragment::storage_element_type *from, unsigned stride) {
    for (int i = 0; i < to.num_elements; i++) to.x[i] = from[to.at(i, stride, Fragment::by_rows)];
}
template <typename Fragment>
static inline void load_matrix_sync(Fragment &to, const typename Fragment::storage_element_type *from, unsigned stride,
                                    layout_t layout) {
    for (int i = 0; i < to.num_elements; i++) to.x[i] = from[to.at(i, stride, layout == mem_row_major)];
}
template <typename Fragment>
static inline void store_matrix_sync(typename Fragment::storage_element_type *to, const Fragment &from, unsigned stride,
                                     layout_t layout) {
    for (int i = 0; i < from.num_elements; i++) to[from.at(i, stride, layout == mem_row_major)] = from.x[i];
}
template <int m, int n, int k, typename T, typename Left, typename Right, typename D, typename C>
static inline void mma_sync(fragment<accumulator, m, n, k, D> &to, const fragment<matrix_a, m, n, k, T, Left> &a,
                            const fragment<matrix_b, m, n, k, T, Right> &b, const fragment<accumulator, m, n, k, C> &before,
                            bool = false, EmulatorSite site = emulator_here()) {
    constexpr int count = m * n / 32, each = k / 4;
    const int lane = (int)emulator_lane();
    double sum[count];
    for (int i = 0; i < count; i++) sum[i] = emulator_element<C>::number(before.x[i]);
    for (int part = 0; part < 4; part++) {
        const auto left = a.of(lane / 4 * 4 + part, site);
        for (int odd = 0; odd < 2; odd++) {
            const auto right = b.of((2 * (lane % 4) + odd) * 4 + part, site);
            for (int i = odd; i < count; i += 2)
                for (int j = 0; j < each; j++)
                    sum[i] += emulator_element<T>::number(left.x[i / 2 % (m / 8) * each + j]) *
                              emulator_element<T>::number(right.x[i / 2 / (m / 8) * each + j]);
        }
    }
    for (int i = 0; i < count; i++) to.x[i] = (D)sum[i];
}
} // namespace wmma
} // namespace nvcuda
