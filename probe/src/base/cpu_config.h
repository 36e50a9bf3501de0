/* CPU configurations: how a run divides CPUs between tests and load. */
#ifndef HS_BASE_CPU_CONFIG_H
#define HS_BASE_CPU_CONFIG_H

enum cpu_config {
    CPU_CONFIG_SHARED,   /* nothing is reserved, nothing bound without need */
    CPU_CONFIG_SINGLE,   /* the other CPUs are offline; where refused, tests and load on one */
    CPU_CONFIG_SHIELDED, /* one CPU is reserved for the tests */
};

/* Name of a configuration, as in options and in the stream. */
const char *cpu_config_name(enum cpu_config config);

/* 0, or -1 for an unknown name. */
int cpu_config_parse(const char *text, enum cpu_config *config);

#endif
