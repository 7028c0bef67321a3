/* Litmus tests whose scopes and fences are enough: shape, place, write, fence, read, fence. */
#include "litmus.h"

LITMUS(right0, MESSAGE_PASSING, TOGETHER, OF_BLOCK, OF_BLOCK, OF_BLOCK, OF_BLOCK)
LITMUS(right1, MESSAGE_PASSING, TOGETHER, OF_BLOCK, OF_BLOCK, OF_DEVICE, OF_DEVICE)
LITMUS(right2, MESSAGE_PASSING, TOGETHER, OF_DEVICE, OF_DEVICE, VOLATILE, OF_BLOCK)
LITMUS(right3, MESSAGE_PASSING, APART, OF_DEVICE, OF_DEVICE, OF_DEVICE, OF_DEVICE)
LITMUS(right4, MESSAGE_PASSING, APART, OF_SYSTEM, OF_SYSTEM, OF_DEVICE, OF_DEVICE)
LITMUS(right5, MESSAGE_PASSING, APART, VOLATILE, OF_DEVICE, VOLATILE, OF_SYSTEM)
LITMUS(right6, STORE_BUFFERING, TOGETHER, OF_BLOCK, OF_BLOCK, OF_BLOCK, PLAIN)
LITMUS(right7, STORE_BUFFERING, APART, OF_DEVICE, OF_DEVICE, OF_DEVICE, PLAIN)
LITMUS(right8, STORE_BUFFERING, APART, VOLATILE, OF_SYSTEM, VOLATILE, PLAIN)
LITMUS(right9, IRIW, TOGETHER, OF_BLOCK, PLAIN, OF_BLOCK, OF_BLOCK)
LITMUS(right10, IRIW, APART, OF_DEVICE, PLAIN, OF_DEVICE, OF_DEVICE)
LITMUS(right11, IRIW, APART, VOLATILE, PLAIN, VOLATILE, OF_DEVICE)
LITMUS(ref0, MESSAGE_PASSING, TOGETHER, REF_ORDERED_BLOCK, PLAIN, REF_ORDERED_BLOCK, PLAIN)
LITMUS(ref1, MESSAGE_PASSING, TOGETHER, REF_RELAXED_DEVICE, OF_BLOCK, REF_ORDERED_BLOCK, PLAIN)
LITMUS(ref2, MESSAGE_PASSING, APART, REF_ORDERED_DEVICE, PLAIN, REF_ORDERED_DEVICE, PLAIN)
LITMUS(ref3, MESSAGE_PASSING, APART, REF_ORDERED_DEVICE, PLAIN, VOLATILE, OF_DEVICE)
LITMUS(ref4, STORE_BUFFERING, APART, REF_RELAXED_DEVICE, OF_DEVICE, REF_RELAXED_DEVICE, PLAIN)
LITMUS(ref5, IRIW, TOGETHER, REF_RELAXED_BLOCK, PLAIN, REF_RELAXED_DEVICE, OF_DEVICE)
#ifdef RUNGS_EMULATED
LITMUS(ordered0, MESSAGE_PASSING, APART, ORDERED, PLAIN, ORDERED, PLAIN)
LITMUS(ordered1, MESSAGE_PASSING, APART, RELAXED, OF_DEVICE, ORDERED, PLAIN)
LITMUS(ordered2, MESSAGE_PASSING, APART, ORDERED, PLAIN, RELAXED, OF_DEVICE)
LITMUS(ordered3, STORE_BUFFERING, APART, RELAXED, OF_DEVICE, RELAXED, PLAIN)
LITMUS(ordered4, IRIW, APART, ORDERED, PLAIN, ORDERED, OF_DEVICE)
#endif

extern "C" const SelfTest CLEAN_LITMUS[] = {
    {"litmus: message passing 1", right0, {}},
    {"litmus: message passing 2", right1, {}},
    {"litmus: message passing 3", right2, {}},
    {"litmus: message passing 4", right3, {}},
    {"litmus: message passing 5", right4, {}},
    {"litmus: message passing 6", right5, {}},
    {"litmus: store buffering 7", right6, {}},
    {"litmus: store buffering 8", right7, {}},
    {"litmus: store buffering 9", right8, {}},
    {"litmus: IRIW 10", right9, {}},
    {"litmus: IRIW 11", right10, {}},
    {"litmus: IRIW 12", right11, {}},
    {"litmus, atomic_ref: message passing 1", ref0, {}},
    {"litmus, atomic_ref: message passing 2", ref1, {}},
    {"litmus, atomic_ref: message passing 3", ref2, {}},
    {"litmus, atomic_ref: message passing 4", ref3, {}},
    {"litmus, atomic_ref: store buffering 5", ref4, {}},
    {"litmus, atomic_ref: IRIW 6", ref5, {}},
#ifdef RUNGS_EMULATED
    {"litmus, C++: message passing 1", ordered0, {}},
    {"litmus, C++: message passing 2", ordered1, {}},
    {"litmus, C++: message passing 3", ordered2, {}},
    {"litmus, C++: store buffering 4", ordered3, {}},
    {"litmus, C++: IRIW 5", ordered4, {}},
#endif
    {NULL, NULL, {}},
};
