#include "base/children.h"

#include <dirent.h>
#include <stdio.h>

bool pids_contain(const Pids *pids, pid_t pid) {
    for (int i = 0; i < pids->count; i++)
        if (pids->pid[i] == pid) return true;
    return false;
}

void pids_add(Pids *pids, pid_t pid) {
    if (pids->count < PIDS_MAX && !pids_contain(pids, pid)) pids->pid[pids->count++] = pid;
}

void children_add(pid_t of, Pids *out) {
    char folder[64], path[400];
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)of);
    DIR *threads = opendir(folder);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/children", folder, entry->d_name);
        FILE *list = fopen(path, "re");
        int pid;
        while (list && fscanf(list, "%d", &pid) == 1) pids_add(out, pid);
        if (list) fclose(list);
    }
    if (threads) closedir(threads);
}
