/* program.h - facts of this program that CMake and git tell when it is built (rungs_program of cmake/modules.cmake). */
#pragma once

typedef struct Program {
    const char *project;    /* "rungs", or the name given to rungs_add_project */
    const char *modules;    /* the folder of its variants' modules, below the build folder */
    const char *commit;     /* of the project's repository, 40 digits; NULL: it is no git checkout */
    const char *dirty;      /* "yes" or "no": uncommitted changes; NULL: git does not tell */
    const char *build_type; /* of the harness and the project; only "Release" is timed */
    const char *compiler, *flags;
    const char *cuda_compiler, *cuda_flags, *cuda_architectures; /* "": built without nvcc */
} Program;

extern const Program PROGRAM;

#define RUNGS_VERSION "1.0.0" /* of the harness; the one in CMakeLists.txt: a test holds them equal */
