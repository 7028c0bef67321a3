/* Scenario files by name. */
#include "base/text.h"
#include "plan/scenario.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_TEXT_MAX = 4096, DEPTH_MAX = 8 };
static const char ENDING[] = ".yaml";

typedef struct Files {
    char **paths;
    int count;
} Files;

static bool ends_in_yaml(const char *name) {
    const size_t length = strlen(name);
    return length > strlen(ENDING) && strcmp(name + length - strlen(ENDING), ENDING) == 0;
}

static Status append(Files *files, const char *path) {
    char **grown = realloc(files->paths, ((size_t)files->count + 1) * sizeof *grown);
    if (!grown) return status_fail(STATUS_MEMORY, "no memory for a list of files");
    files->paths = grown;
    grown[files->count] = strdup(path);
    if (!grown[files->count]) return status_fail(STATUS_MEMORY, "no memory for a list of files");
    files->count++;
    return STATUS_OK;
}

static Status walk(const char *dir, int depth, Files *files) {
    DIR *stream = opendir(dir);
    if (!stream) {
        const Status code = errno == ENOMEM ? STATUS_MEMORY : errno == EMFILE || errno == ENFILE ? STATUS_IO : STATUS_INVALID;
        return status_fail(code, "%s: cannot be opened: %s", dir, strerror(errno));
    }
    Status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(stream));) {
        char path[PATH_TEXT_MAX];
        struct stat info;
        if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) >= (int)sizeof path) continue;
        if (stat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode) && depth < DEPTH_MAX)
            status = walk(path, depth + 1, files);
        else if (S_ISREG(info.st_mode) && ends_in_yaml(path))
            status = append(files, path);
    }
    closedir(stream);
    return status;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Status scenario_files(const char *dir, char ***out, int *count) {
    Files files = {0};
    const Status status = walk(dir, 0, &files);
    if (status != STATUS_OK) {
        scenario_files_free(files.paths, files.count);
        return status;
    }
    if (files.count) qsort(files.paths, (size_t)files.count, sizeof *files.paths, compare);
    *out = files.paths;
    *count = files.count;
    return STATUS_OK;
}

void scenario_files_free(char **files, int count) {
    for (int i = 0; i < count; i++) free(files[i]);
    free(files);
}

/* The folders of a name stand for all their scenarios: "smoke/rolling" -> "smoke". */
static Status append_folders(Files *names, const char *name) {
    char folder[PATH_TEXT_MAX];
    Status status = STATUS_OK;
    for (const char *slash = strchr(name, '/'); slash && status == STATUS_OK; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
        status = append(names, folder);
    }
    return status;
}

static Status unknown_scenario(const char *dir, const char *name) {
    Files names;
    TRY(scenario_files(dir, &names.paths, &names.count));
    const int count = names.count;
    Status status = STATUS_OK;
    for (int i = 0; i < count; i++) { /* paths become names, in place */
        char *path = names.paths[i];
        memmove(path, path + strlen(dir) + 1, strlen(path) - strlen(dir));
        path[strlen(path) - strlen(ENDING)] = '\0';
    }
    for (int i = 0; i < count && status == STATUS_OK; i++) status = append_folders(&names, names.paths[i]);
    const char *const *all = (const char *const *)names.paths;
    if (status == STATUS_OK)
        status = text_fail_listing(text_nearest(name, all, names.count), "known", all, count,
                                   "'%.200s' is neither a .yaml file nor a scenario of %s", name, dir);
    scenario_files_free(names.paths, names.count);
    return status;
}

Status scenario_path(const char *dir, const char *name, char *out, size_t size) {
    struct stat info;
    if (ends_in_yaml(name))
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s/%s%s", dir, name, ENDING);
    if (stat(out, &info) == 0) return STATUS_OK;
    return unknown_scenario(dir, name);
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

Status plan_add_all(Plan *plan, const char *dir) {
    Files files = {0};
    TRY(scenario_files(dir, &files.paths, &files.count));
    Status status = STATUS_OK;
    for (int i = 0; i < files.count; i++) scenario_want(files.paths[i]);
    for (int i = 0; i < files.count && status == STATUS_OK; i++) status = plan_add_scenario(plan, files.paths[i]);
    scenario_files_free(files.paths, files.count);
    return status;
}

Status plan_add_named(Plan *plan, const char *dir, const char *name) {
    char path[PATH_TEXT_MAX];
    const int before = plan->scenario_count;
    if (snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path && *name && !ends_in_yaml(name) && is_folder(path)) {
        TRY(plan_add_all(plan, path));
        return plan->scenario_count > before ? STATUS_OK : status_fail(STATUS_INVALID, "%s: no scenarios in this folder", path);
    }
    TRY(scenario_path(dir, name, path, sizeof path));
    return plan_add_scenario(plan, path);
}
