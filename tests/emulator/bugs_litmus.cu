/* Litmus tests with one scope or fence that is too small or missing: shape, place, write, fence, read, fence. */
#include "litmus.h"

LITMUS(wrong0, MESSAGE_PASSING, TOGETHER, OF_BLOCK, PLAIN, OF_BLOCK, OF_BLOCK)
LITMUS(wrong1, MESSAGE_PASSING, TOGETHER, OF_DEVICE, OF_DEVICE, OF_DEVICE, PLAIN)
LITMUS(wrong2, MESSAGE_PASSING, TOGETHER, PLAIN, OF_DEVICE, OF_DEVICE, OF_DEVICE)
LITMUS(wrong3, MESSAGE_PASSING, APART, OF_DEVICE, PLAIN, OF_DEVICE, OF_DEVICE)
LITMUS(wrong4, MESSAGE_PASSING, APART, OF_DEVICE, OF_DEVICE, OF_DEVICE, PLAIN)
LITMUS(wrong5, MESSAGE_PASSING, APART, OF_DEVICE, OF_BLOCK, OF_DEVICE, OF_DEVICE)
LITMUS(wrong6, MESSAGE_PASSING, APART, OF_DEVICE, OF_DEVICE, OF_DEVICE, OF_BLOCK)
LITMUS(wrong7, MESSAGE_PASSING, APART, OF_BLOCK, OF_DEVICE, OF_DEVICE, OF_DEVICE)
LITMUS(wrong8, MESSAGE_PASSING, APART, OF_DEVICE, OF_DEVICE, OF_BLOCK, OF_DEVICE)
LITMUS(wrong9, MESSAGE_PASSING, APART, RELAXED, PLAIN, ORDERED, PLAIN)
LITMUS(wrong10, MESSAGE_PASSING, APART, ORDERED, PLAIN, RELAXED, PLAIN)
LITMUS(wrong11, STORE_BUFFERING, TOGETHER, PLAIN, OF_BLOCK, OF_BLOCK, PLAIN)
LITMUS(wrong12, STORE_BUFFERING, APART, OF_BLOCK, OF_DEVICE, OF_BLOCK, PLAIN)
LITMUS(wrong13, IRIW, APART, OF_BLOCK, PLAIN, OF_DEVICE, OF_DEVICE)
LITMUS(wrong14, IRIW, APART, OF_DEVICE, PLAIN, PLAIN, OF_DEVICE)
LITMUS(wrong15, MESSAGE_PASSING, APART, REF_ORDERED_BLOCK, PLAIN, REF_ORDERED_DEVICE, PLAIN)
LITMUS(wrong16, MESSAGE_PASSING, APART, REF_ORDERED_DEVICE, PLAIN, REF_ORDERED_BLOCK, PLAIN)
LITMUS(wrong17, MESSAGE_PASSING, TOGETHER, REF_RELAXED_DEVICE, PLAIN, REF_ORDERED_DEVICE, PLAIN)
LITMUS(wrong18, MESSAGE_PASSING, TOGETHER, REF_ORDERED_DEVICE, PLAIN, REF_RELAXED_DEVICE, PLAIN)
LITMUS(wrong19, STORE_BUFFERING, APART, REF_RELAXED_BLOCK, OF_DEVICE, REF_RELAXED_BLOCK, PLAIN)

extern "C" const SelfTest BUGS_LITMUS[] = {
    {"litmus: message passing 1", wrong0, {NULL, NULL, "data race"}},
    {"litmus: message passing 2", wrong1, {NULL, NULL, "data race"}},
    {"litmus: message passing 3", wrong2, {NULL, NULL, "data race"}},
    {"litmus: message passing 4", wrong3, {NULL, NULL, "data race"}},
    {"litmus: message passing 5", wrong4, {NULL, NULL, "data race"}},
    {"litmus: message passing 6", wrong5, {NULL, NULL, "data race"}},
    {"litmus: message passing 7", wrong6, {NULL, NULL, "data race"}},
    {"litmus: message passing 8", wrong7, {NULL, NULL, "data race"}},
    {"litmus: message passing 9", wrong8, {NULL, NULL, "data race"}},
    {"litmus: message passing 10", wrong9, {NULL, NULL, "data race"}},
    {"litmus: message passing 11", wrong10, {NULL, NULL, "data race"}},
    {"litmus: store buffering 12", wrong11, {NULL, NULL, "data race"}},
    {"litmus: store buffering 13", wrong12, {NULL, NULL, "data race"}},
    {"litmus: IRIW 14", wrong13, {NULL, NULL, "data race"}},
    {"litmus: IRIW 15", wrong14, {NULL, NULL, "data race"}},
    {"litmus: atomic_ref 16", wrong15, {NULL, NULL, "data race"}},
    {"litmus: atomic_ref 17", wrong16, {NULL, NULL, "data race"}},
    {"litmus: atomic_ref 18", wrong17, {NULL, NULL, "data race"}},
    {"litmus: atomic_ref 19", wrong18, {NULL, NULL, "data race"}},
    {"litmus: atomic_ref 20", wrong19, {NULL, NULL, "data race"}},
    {NULL, NULL, {}},
};
