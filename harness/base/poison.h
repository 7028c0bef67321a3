/* poison.h - what outputs and scratch hold before a call: in turn a NaN and a large number of each sign, so that what adds to what
 * it finds there, or keeps the smaller or larger of the two, is wrong from one of them. */
#pragma once

/* Every byte of a pattern is the same. FF: a NaN of any float, -1 of an integer. 7B: 1.3e36 as f32, 1.6e287 as f64; FB: the same
 * below 0. */
enum { POISON_PATTERNS = 3 };
#define POISON_BYTE 0xFF /* the first */
static const unsigned char POISONS[POISON_PATTERNS] = {POISON_BYTE, 0x7B, 0xFB};
