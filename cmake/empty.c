/* A module without sources of its own in this configuration. */
typedef int rungs_empty_module;
