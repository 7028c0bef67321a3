/* report.h - rows to figures, REPORT.md and report.html, by analysis/report/ and plots/. */
#ifndef RUNGS_CLI_REPORT_H
#define RUNGS_CLI_REPORT_H

/* files: NULL-terminated paths of rows. Writes folder/REPORT.md, folder/report.html, folder/results/ and folder/figures/. Returns
 * an exit code. */
int report_make(const char *const *files, const char *folder);

#endif
