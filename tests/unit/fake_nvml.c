/* Stands in for libnvidia-ml: one device that is cool, others that are hot; with RUNGS_FAKE_HOT=N for the first N readings. */
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, const char **device);
int nvmlDeviceGetTemperature(const char *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(const char *device, unsigned long long *reasons);

int nvmlInit_v2(void) {
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, const char **device) {
    *device = strcmp(uuid, "GPU-cool") == 0 ? "cool" : "hot";
    return strncmp(uuid, "GPU-", 4) == 0 ? 0 : 6;
}

int nvmlDeviceGetTemperature(const char *device, int sensor, unsigned *celsius) {
    *celsius = strcmp(device, "hot") == 0 ? 91 : 40;
    return sensor;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const char *device, unsigned long long *reasons) {
    static int readings;
    const char *most = getenv("RUNGS_FAKE_HOT");
    const int cooled = most && readings++ >= atoi(most);
    *reasons = strcmp(device, "hot") == 0 && !cooled ? 0x40 : 0x4;
    return 0;
}
