#include "verify/families.h"

#include "base/npy.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/places.h"
#include "base/process.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MISSING_PACKAGE = 3 /* exit code of SCRIPT */, EXPORT_SECONDS = 300 };

static const char STATSMODELS[] = "statsmodels.datasets", SKLEARN[] = "sklearn.datasets";

/* Data sets that public Python packages ship: nothing is downloaded. Numbers in the order of time, and of a table row after row. */
static const struct {
    const char *name, *module, *values; /* values: of `data`, the module */
} SERIES[] = {
    {"co2", STATSMODELS, "data.co2.load_pandas().data['co2']"}, /* weekly at Mauna Loa, 1958-2001; weeks are missing */
    {"sunspots", STATSMODELS, "data.sunspots.load_pandas().data['SUNACTIVITY']"}, /* yearly, 1700-2008 */
    {"nile", STATSMODELS, "data.nile.load_pandas().data['volume']"},              /* yearly flow at Aswan, 1871-1970 */
    {"elnino", STATSMODELS, "data.elnino.load_pandas().data.drop(columns='YEAR').to_numpy().ravel()"}, /* monthly, 1950-2010 */
    {"gdp", STATSMODELS, "data.macrodata.load_pandas().data['realgdp']"},    /* quarterly, of the US, 1959-2009 */
    {"inflation", STATSMODELS, "data.macrodata.load_pandas().data['infl']"}, /* quarterly, of the US, 1959-2009 */
    {"wine", SKLEARN, "data.load_wine().data.ravel()"},                      /* 178 wines x 13 measurements */
    {"breast_cancer", SKLEARN, "data.load_breast_cancer().data.ravel()"},    /* 569 tumours x 30 measurements */
    {"digits", SKLEARN, "data.load_digits().data.ravel()"},                  /* 1797 x 64 pixels: small integers */
    {"diabetes", SKLEARN, "data.load_diabetes().target"},                    /* progression of 442 patients */
};
enum { SERIES_COUNT = sizeof SERIES / sizeof *SERIES };

/* MODULE PACKAGE VALUES FILE: the values as float64; what is missing is NaN. */
static const char SCRIPT[] =
    "import importlib, sys\n"
    "module, package, values, path = sys.argv[1:]\n"
    "try:\n"
    "    import numpy\n"
    "    data = importlib.import_module(module)\n"
    "except ImportError as error:\n"
    "    print(f'needs the Python package {package} ({error}); install it with: {sys.executable} -m pip install {package}')\n"
    "    sys.exit(3)\n"
    "with open(path, 'wb') as file:\n" /* numpy.save would add .npy to the name */
    "    numpy.save(file, numpy.ascontiguousarray(numpy.asarray(eval(values), dtype='<f8')))\n";

static const char *exports(void) {
    return places_build("real");
}

static int series_named(const char *name) {
    int i = 0;
    while (i < SERIES_COUNT && strcmp(SERIES[i].name, name) != 0) i++;
    return i;
}

Status family_real_check(const char *name) {
    if (series_named(name) < SERIES_COUNT) return STATUS_OK;
    const char *names[SERIES_COUNT];
    Text known = {0};
    for (int i = 0; i < SERIES_COUNT; i++) {
        names[i] = SERIES[i].name;
        TRY(text_append(&known, "%sreal:%s", i ? ", " : "", names[i]));
    }
    const char *nearest = text_nearest(name, names, SERIES_COUNT);
    const Status status =
        status_fail(STATUS_INVALID, "unknown input family 'real:%s'%s%s%s (known: %s)", name,
                    nearest ? "; did you mean 'real:" : "", nearest ? nearest : "", nearest ? "'?" : "", known.text);
    text_free(&known);
    return status;
}

static void trim_end(Text *text) {
    while (text->length && strchr("\n ", text->text[text->length - 1])) text->text[--text->length] = '\0';
}

/* Two processes may export one series at once: the file appears whole. */
static Status export_series(const char *name, const char *path) {
    Output file;
    char unnamed[40];
    if (mkdir(exports(), 0777) != 0 && errno != EEXIST)
        return status_fail(STATUS_IO, "%s: cannot be made: %s", exports(), strerror(errno));
    Text said = {0};
    int exit_code = 0;
    TRY(output_open(path, &file));
    fcntl(file.descriptor, F_SETFD, 0); /* the script inherits it */
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", file.descriptor);
    const int series = series_named(name);
    const char *const module = SERIES[series].module, *const package = module == SKLEARN ? "scikit-learn" : "statsmodels";
    const char *const argv[] = {places_python(), "-c", SCRIPT, module, package, SERIES[series].values, unnamed, NULL};
    const ProcessLimits limits = {.seconds = EXPORT_SECONDS};
    Status status = process_capture(argv, &limits, &said, &exit_code);
    if (status == STATUS_OK && exit_code) {
        trim_end(&said);
        status = status_fail(exit_code == MISSING_PACKAGE ? STATUS_UNSUPPORTED : STATUS_IO, "real:%s: %s", name,
                             said.text ? said.text : "the export failed without a message");
    }
    text_free(&said);
    return output_close(&file, status);
}

Status family_real_fill(const char *name, uint64_t seed, uint64_t stream, Array *array) {
    TRY(family_real_check(name)); /* so the name is a plain word that can be part of a path */
    char path[1024];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.npy", exports(), name) >= sizeof path)
        return status_fail(STATUS_INTERNAL, "real:%s: the name is too long", name);
    if (access(path, R_OK) != 0) TRY(export_series(name, path));
    Array series;
    TRY(npy_read(path, &series));
    const size_t length = array_count(&series), n = array_count(array);
    if (series.dtype != DTYPE_F64 || series.rank != 1 || length == 0) {
        free(series.data);
        return status_fail(STATUS_INVALID, "%s: not a series of f64; delete it, it will be made again", path);
    }
    const size_t start = (size_t)(((seed - 1) * 7919 + stream * 104729) % length);
    const double *from = series.data;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) number_put(array, i, from[(start + i) % length]);
    free(series.data);
    return STATUS_OK;
}
