/* Texts of the kernel that say what the machine is, as they are. */
#include "port/port.h"

#include <sys/types.h>

#include <sys/sysctl.h>

#include <stdio.h>

enum { TEXT_BYTES = 1024, NAME_BYTES = 64 };

void port_sources(const struct port_source_sink *sink)
{
    static const char *const names[] = {"kern.version",
                                        "kern.ident",
                                        "hw.model",
                                        "kern.vm_guest",
                                        "kern.timecounter.hardware",
                                        "kern.eventtimer.timer"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[TEXT_BYTES], source[NAME_BYTES];
        size_t bytes = sizeof text;
        if (sysctlbyname(names[i], text, &bytes, NULL, 0) != 0 || bytes == 0)
            continue;
        snprintf(source, sizeof source, "sysctl/%s", names[i]);
        sink->take(sink->context, source, text, bytes - 1); /* without the NUL */
    }
}
