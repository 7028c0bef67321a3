/* folder.h - makes output folders. */
#ifndef RUNGS_CLI_FOLDER_H
#define RUNGS_CLI_FOLDER_H

#include "base/status.h"

/* Creates a folder and those above it. */
Status folder_make(const char *path);

#endif
