#include "base/posix_source.h"

#include "base/cpu_config.h"

#include <string.h>

const char *cpu_config_name(enum cpu_config config)
{
    static const char *const names[] = {[CPU_CONFIG_SHARED] = "shared",
                                        [CPU_CONFIG_SINGLE] = "single",
                                        [CPU_CONFIG_SHIELDED] = "shielded"};
    return names[config];
}

int cpu_config_parse(const char *text, enum cpu_config *config)
{
    for (int i = CPU_CONFIG_SHARED; i <= CPU_CONFIG_SHIELDED; i++)
        if (strcmp(text, cpu_config_name((enum cpu_config)i)) == 0) {
            *config = (enum cpu_config)i;
            return 0;
        }
    return -1;
}
