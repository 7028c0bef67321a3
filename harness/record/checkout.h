/* checkout.h - facts of a checkout from git: its commit, and whether a build of it would differ from that commit. The folder may
 * belong to another user, as a container's mount does. Nothing that its configuration names is run. */
#ifndef RUNGS_RECORD_CHECKOUT_H
#define RUNGS_RECORD_CHECKOUT_H

/* The commit of the checkout in `folder` (free it); NULL if git does not tell. */
char *checkout_commit(const char *folder);

/* The commit that a name (a branch, a tag, HEAD~1) stands for (free it); NULL if it is none. */
char *checkout_resolve(const char *folder, const char *ref);

/* What has changed beside that commit, as `git status` tells it, empty if nothing (free it); NULL if git does not tell. Changes of
 * results and of what is generated from them are none, nor are new files where nothing that is measured comes from: rows, logs and
 * notes may lie beside the sources. */
char *checkout_changes(const char *folder);

#endif
