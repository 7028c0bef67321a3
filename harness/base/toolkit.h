/* toolkit.h - libraries of the CUDA toolkit that are opened when they are needed, so that a program without them still starts. */
#pragma once

#include <sys/cdefs.h>

__BEGIN_DECLS

/* dlopen of lib<name>.so.<major> or lib<name>.so.<major>.*: on the loader's path, then below CUDA_HOME, CUDA_PATH, /usr/local/cuda,
 * /usr/local/cuda-<major>.*, the toolkit that ./rungs fetches (build/cuda) and the wheels of build/python. NULL if it is nowhere.
 */
void *toolkit_open(const char *name, int major);

__END_DECLS
