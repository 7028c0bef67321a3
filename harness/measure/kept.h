/* kept.h - for the workers of Python libraries (device/peer_own.py): what their code must not replace. void *: a PyObject, held
 * from then on. rank: of what is looked at seldom the higher. */
#pragma once

#include "base/status.h"

#include <stdbool.h>

__BEGIN_DECLS

enum { KEPT_ALWAYS = 1 }; /* ranks that are looked at after every sample, and before inputs are made */

/* STATUS_UNSUPPORTED: Python lacks a function. */
Status kept_open(void);
/* What these keys stand for; keys, changing: tuples in the dictionary's order, of those that may stand for anything the second.
 * where: its name, for messages. object: whose attributes they are; its class is kept, too. NULL: a module's or a class's. all: no
 * other key may come. */
Status kept_names(void *where, void *dictionary, void *keys, void *changing, void *object, int rank, bool all);
/* A function of Python's: its code, defaults and closure. twin: another code object with the same contents, with which the bytes of
 * its code and the contents of its cells are compared; NULL: they are not. */
Status kept_function(void *where, void *name, void *function, void *twin, int rank);
/* Nothing of it can be changed from now on; what follows is of one command. replies: the descriptor. none, profile, trace: None,
 * sys.getprofile, sys.gettrace. */
Status kept_seal(int replies, void *none, void *profile, void *trace);
void kept_forget(void);
/* Replies what was replaced, if something was, and ends this process; no code of Python's runs before that. */
void kept_expect(int rank);

__END_DECLS
