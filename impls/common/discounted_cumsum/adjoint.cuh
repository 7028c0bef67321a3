/* adjoint.cuh - the two scans of discounted_cumsum_grad as Works of affine_scan.cuh: the sums, of which each element keeps
 * what was carried into it, and the adjoint, which multiplies by that as it goes. The discount's gradients are added up within the
 * block where a line has one discount, and are the products where each element has its own; those of several rows in a line are
 * left to a kernel that reads what both have written. */
#ifndef RUNGS_DISCOUNT_ADJOINT_CUH
#define RUNGS_DISCOUNT_ADJOINT_CUH

#include "common/discounted_cumsum/gradient.cuh"
#include "common/discounted_cumsum/scan.cuh"

/* Writes to view.y what is carried into each element, before its factor. */
template <typename T, bool BACKWARD> struct CarriesUniform : DiscountUniform<T, BACKWARD> {
    typedef DiscountUniform<T, BACKWARD> Base;
    __device__ void store(const typename Base::Items &items, size_t position, const typename Base::Map &before) {
        T sum = (T)before.b, out[Base::ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < Base::ELEMENTS; k++) {
            out[k] = sum;
            sum = this->factor * sum + items.x[k];
        }
        this->line.store(this->view.y, this->line.first(position), this->packed, out);
    }
};
template <typename T, bool BACKWARD> struct CarriesGeneral : DiscountGeneral<T, BACKWARD> {
    typedef DiscountGeneral<T, BACKWARD> Base;
    __device__ void store(const DiscountItems<T> &items, size_t position, const typename Base::Map &before) {
        T sum = (T)before.b, out[Base::ELEMENTS];
#pragma unroll
        for (unsigned k = 0; k < Base::ELEMENTS; k++) {
            out[k] = sum;
            sum = discount_step(items.factor[k], sum, items.x[k]);
        }
        this->reader.line.store(this->reader.view.y, this->reader.line.first(position), this->reader.packed, out);
    }
};

/* What a thread has of the gradient of its line's discount. */
struct GradientSum {
    double *partials; /* of each block; null: products are stored */
    double sum;

    __device__ void end(size_t block) {
        __shared__ Sum<double> totals[WARP];
        const Sum<double> all = block_reduce(Sum<double>{sum}, totals);
        if (threadIdx.x == 0) partials[block] = all.sum;
    }
};

/* One discount to a line of one row, nothing cut: dx goes as the sums do, the other way. */
template <typename T, bool BACKWARD> struct AdjointUniform : DiscountUniform<T, BACKWARD> {
    typedef DiscountUniform<T, BACKWARD> Base;
    const T *carries;
    GradientSum gradient;
    size_t strips;

    __device__ void store(const typename Base::Items &items, size_t position, const typename Base::Map &before) {
        const long long low = this->line.first(position), last = BACKWARD ? this->line.begin : this->line.end - 1;
        T sum = (T)before.b, out[Base::ELEMENTS], carried[Base::ELEMENTS];
        this->line.load(carries, low, this->packed, (T)0, carried);
#pragma unroll
        for (unsigned k = 0; k < Base::ELEMENTS; k++) {
            sum = this->factor * sum + items.x[k];
            out[k] = sum;
            /* Nothing was carried into the row's first element, which is the last here: not even 0, should dx be inf. */
            const long long flat = this->line.at(low, k);
            if (this->line.holds(flat) && flat != last) gradient.sum += (double)sum * (double)carried[k];
        }
        this->line.store(this->view.y, low, this->packed, out);
    }
    __device__ void end(size_t line, size_t strip) {
        gradient.end(line * strips + strip);
    }
};

/* dgamma of each row from its dx and carries: block b has row b. Products are doubles from the start, for those of floats may pass
 * the range of floats and their sum come back. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    gradient_rows_kernel(DiscountView<T> view, bool right, const T *carries, const T *dx, T *dgamma) {
    __shared__ Sum<double> totals[WARP];
    const size_t row = blockIdx.x * view.n, first = right ? view.n - 1 : 0;
    Sum<double> sum;
    for (size_t i = threadIdx.x; i < view.n; i += blockDim.x) {
        const bool cut = i == first || (view.reset && view.reset[row + i]);
        if (!cut) sum.push((double)dx[row + i] * (double)carries[row + i]);
    }
    sum = block_reduce(sum, totals);
    if (threadIdx.x == 0) dgamma[blockIdx.x] = (T)sum.sum;
}

/* What is carried on from an element is its factor times its dx, or nothing. Both null, gradient.partials and products: dx alone.
 */
template <typename T, bool BACKWARD> struct AdjointGeneral : DiscountGeneral<T, BACKWARD> {
    typedef DiscountGeneral<T, BACKWARD> Base;
    const T *carries;
    T *products; /* of each element, which has a discount of its own */
    GradientSum gradient;
    size_t strips;

    __device__ typename Base::Map map(const DiscountItems<T> &items) const {
        Affine<T> all;
#pragma unroll
        for (unsigned k = 0; k < Base::ELEMENTS; k++) {
            const T factor = items.factor[k];
            all.merge({factor, affine_is_cut(factor) ? 0 : factor * items.x[k]});
        }
        return {(double)all.a, (double)all.b};
    }
    __device__ void store(const DiscountItems<T> &items, size_t position, const typename Base::Map &before) {
        const auto &reader = this->reader;
        const long long low = reader.line.first(position);
        T carry = (T)before.b, out[Base::ELEMENTS], carried[Base::ELEMENTS] = {}, product[Base::ELEMENTS];
        if (gradient.partials || products) reader.line.load(carries, low, reader.packed, (T)0, carried);
#pragma unroll
        for (unsigned k = 0; k < Base::ELEMENTS; k++) {
            const T factor = items.factor[k];
            const bool cut = affine_is_cut(factor);
            out[k] = items.x[k] + carry;
            carry = cut ? 0 : factor * out[k];
            const double both = cut || !reader.line.holds(reader.line.at(low, k)) ? 0 : (double)out[k] * (double)carried[k];
            product[k] = (T)both;
            gradient.sum += both;
        }
        reader.line.store(reader.view.y, low, reader.packed, out);
        if (products) reader.line.store(products, low, reader.packed, product);
    }
    __device__ void end(size_t line, size_t strip) {
        if (gradient.partials) gradient.end(line * strips + strip);
    }
};

#endif
