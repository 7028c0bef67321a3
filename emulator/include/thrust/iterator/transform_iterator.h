#ifdef RUNGS_PROGRAM_THRUST
#include_next <thrust/iterator/transform_iterator.h>
#else
/* Stand-in for Thrust's transform_iterator in the emulator: what DeviceScan reads through. */
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace thrust {

template <typename Function, typename Iterator> struct transform_iterator {
    using value_type = decltype(std::declval<Function>()(*std::declval<Iterator>()));
    using reference = value_type;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator base;
    Function function;

    value_type operator*() const { return function(*base); }
    template <typename Index> value_type operator[](Index i) const { return function(base[i]); }
    template <typename Index> transform_iterator operator+(Index i) const { return {base + i, function}; }
};

template <typename Function, typename Iterator>
transform_iterator<Function, Iterator> make_transform_iterator(Iterator base, Function function) {
    return {base, function};
}

} // namespace thrust

#endif
