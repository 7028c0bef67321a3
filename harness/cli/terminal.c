#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_live(int descriptor) {
    const char *term = getenv("TERM");
    return isatty(descriptor) && !(term && strcmp(term, "dumb") == 0);
}

bool terminal_colour(int descriptor) {
    const char *refused = getenv("NO_COLOR");
    return terminal_live(descriptor) && !(refused && *refused);
}

int terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
