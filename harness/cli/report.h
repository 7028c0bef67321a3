/* report.h - rows to figures and REPORT.md, by analysis/report/ and plots/. */
#ifndef RUNGS_CLI_REPORT_H
#define RUNGS_CLI_REPORT_H

/* files: NULL-terminated paths of rows. Writes folder/REPORT.md and folder/figures/. Returns an exit code. */
int report_make(const char *const *files, const char *folder);

#endif
