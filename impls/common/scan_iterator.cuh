/* scan_iterator.cuh - what random access iterators for CUB's device-wide scans have in common: a position, and steps of it. The
 * iterator itself says what is at a position: struct Inputs : ScanIterator<Inputs, Value, Value> { Value at(size_t) const; }. */
#pragma once

#include "kernel.h"

#include <iterator>

/* Reference: what at() returns. */
template <typename Self, typename Value, typename Reference> struct ScanIterator {
    using value_type = Value;
    using reference = Reference;
    using pointer = void;
    using difference_type = long long;
    using iterator_category = std::random_access_iterator_tag;

    size_t position = 0;

    __host__ __device__ Reference operator[](difference_type k) const { return self().at(position + (size_t)k); }
    __host__ __device__ Reference operator*() const { return self().at(position); }
    __host__ __device__ Self operator+(difference_type k) const {
        Self moved = self();
        moved.position += (size_t)k;
        return moved;
    }
    __host__ __device__ Self &operator+=(difference_type k) {
        position += (size_t)k;
        return static_cast<Self &>(*this);
    }
    __host__ __device__ Self &operator++() { return *this += 1; }

  private:
    __host__ __device__ const Self &self() const { return static_cast<const Self &>(*this); }
};

/* Composition for a scan of maps or states that merge() what comes later. */
struct ScanMerge {
    template <typename Map> __host__ __device__ Map operator()(Map first, const Map &later) const {
        first.merge(later);
        return first;
    }
};
