#include "worker/circumstances.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of nvml.h, whose ABI is kept: no header is needed to build. */
typedef struct nvmlDevice_st *NvmlDevice;
typedef struct Nvml {
    int (*init)(void);
    int (*handle)(const char *, NvmlDevice *);
    int (*power)(NvmlDevice, unsigned *milliwatts);
    int (*temperature)(NvmlDevice, int sensor, unsigned *celsius);
    int (*reasons)(NvmlDevice, unsigned long long *);
    bool there;
} Nvml;

typedef struct Reason {
    unsigned long long bit;
    const char *name;
    bool throttles;
} Reason;

static const Reason REASONS[] = {
    {0x4, "software power cap", false},        {0x8, "hardware slowdown", true},          {0x10, "sync boost", false},
    {0x20, "software thermal slowdown", true}, {0x40, "hardware thermal slowdown", true}, {0x80, "hardware power brake", true},
};

static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static const Nvml *nvml(void) {
    static Nvml nvml;
    static bool tried;
    if (tried) return nvml.there ? &nvml : NULL;
    tried = true;
    const char *wanted = getenv("RUNGS_NVML");
    void *library = wanted && !*wanted ? NULL : dlopen(wanted ? wanted : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlDeviceGetHandleByUUID", &nvml.handle);
    find(library, "nvmlDeviceGetPowerUsage", &nvml.power);
    find(library, "nvmlDeviceGetTemperature", &nvml.temperature);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons);
    nvml.there = nvml.init && nvml.handle && nvml.power && nvml.temperature && nvml.reasons && nvml.init() == 0;
    return nvml.there ? &nvml : NULL;
}

bool circumstances_now(const char *uuid, Circumstances *out) {
    const Nvml *library = uuid ? nvml() : NULL;
    NvmlDevice device = NULL;
    unsigned milliwatts = 0, celsius = 0;
    *out = (Circumstances){.watts = NAN, .celsius = NAN};
    if (!library || library->handle(uuid, &device) != 0) return false;
    if (library->power(device, &milliwatts) == 0) out->watts = milliwatts / 1000.0;
    if (library->temperature(device, 0, &celsius) == 0) out->celsius = celsius;
    return library->reasons(device, &out->reasons) == 0;
}

Conditions circumstances_between(const Circumstances *before, const Circumstances *after) {
    const unsigned long long seen = before->reasons | after->reasons;
    Conditions out = {.known = true, .watts = {before->watts, after->watts}, .celsius = {before->celsius, after->celsius}};
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++) {
        if (!(seen & REASONS[i].bit)) continue;
        snprintf(out.reasons[out.reason_count++], sizeof *out.reasons, "%s", REASONS[i].name);
        out.throttled = out.throttled || REASONS[i].throttles;
    }
    return out;
}
