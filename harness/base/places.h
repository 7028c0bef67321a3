/* places.h - where this program finds its files, from where the program itself lies; no path is compiled in.
 *
 *     a build folder      bin/PROGRAM, and at the top the file rungs-places that CMake writes: the folders of project and harness
 *     an installed prefix bin/rungs, lib/rungs, share/rungs
 */
#pragma once

#include "base/status.h"

/* STATUS_UNSUPPORTED if the program lies in neither: it was copied out alone. The functions below then name files that do not
 * exist. */
Status places_check(void);

/* Each joins a folder and `name`, a path below it ("": the folder itself). The text is kept until the program ends: `name` is one
 * of few that the source spells out. */
const char *places_project(const char *name);   /* of ops and variants: reference/, impls/, scenarios/, results/, .git */
const char *places_harness(const char *name);   /* what all projects share: analysis/, plots/, cmake/, the Python of workers */
const char *places_libraries(const char *name); /* librungs_measure.so */
const char *places_build(const char *name);     /* what the program makes; of an installed one ~/.local/state/rungs */
/* The Python for peers and analysis: the project's own environment build/python, if RUNGS_PYTHON names none; else that of
 * cmake/python. */
const char *places_python(void);
/* The folder of the program, and `name` in it: programs that are built together lie together. */
const char *places_beside(const char *name);
