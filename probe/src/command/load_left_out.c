/* Stubs of load for a build with HS_LOAD=0, which links nothing of load/: requests for load are
 * refused with a reason. */
#include "base/posix_source.h"

#include "base/options.h"
#include "base/status.h"
#include "command/load.h"
#include "load/report.h"

#include <stdio.h>
#include <string.h>

#if !HS_LOAD

#define WHY "load is left out of this build"
#define REMEDY "build the probe with -Dload=true"

void load_spec_none(struct load_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    snprintf(spec->text, sizeof spec->text, "none");
}

/* Accepts any text as one term without an element, so that a run's result can say why it has no
 * load. */
int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes)
{
    load_spec_none(spec);
    if (strcmp(text, "none") == 0)
        return 0;
    spec->count = 1;
    if ((size_t)snprintf(spec->text, sizeof spec->text, "%s", text) < sizeof spec->text)
        return 0;
    snprintf(error, error_bytes, WHY "; " REMEDY);
    return -1;
}

int load_start(struct load *load, const struct load_setup *setup, struct outcome *outcome)
{
    memset(load, 0, sizeof *load);
    load->setup = *setup;
    if (setup->spec->count == 0)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, REMEDY, WHY);
}

void load_wait_ready(struct load *load)
{
    (void)load;
}

int load_deny(const struct load *load, struct outcome *outcome)
{
    (void)load, (void)outcome;
    return 0;
}

bool load_settle(struct load *load, bool (*should_stop)(void))
{
    (void)load, (void)should_stop;
    return true;
}

void load_begin(struct load *load)
{
    (void)load;
}

void load_end(struct load *load)
{
    (void)load;
}

void load_stop(struct load *load)
{
    (void)load;
}

void load_free(struct load *load)
{
    (void)load;
}

void load_unsettled_events(const struct load *load, load_teller *tell, void *context)
{
    (void)load, (void)tell, (void)context;
}

void load_events(const struct load *load, load_teller *tell, void *context)
{
    (void)load, (void)tell, (void)context;
}

void load_lines(struct emit *emit, const struct load *load)
{
    (void)emit, (void)load;
}

void load_table(struct emit *emit, const struct load *load)
{
    (void)emit, (void)load;
}

int load_command(const struct request *request, struct emit *emit)
{
    (void)request, (void)emit;
    message_print(WHY "; " REMEDY);
    return EXIT_MISSING;
}

#endif
