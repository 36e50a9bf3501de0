#include "base/posix_source.h"

#include "family/semaphore/cell.h"

int cell_count(const struct run *run)
{
    return run_param(run, "kinds")->count * run_param(run, "scopes")->count;
}

enum semaphore_kind cell_kind(const struct run *run, int cell)
{
    int scopes = run_param(run, "scopes")->count;
    return (enum semaphore_kind)run_param(run, "kinds")->number[cell / scopes];
}

enum partner_scope cell_scope(const struct run *run, int cell)
{
    const struct param_value *scopes = run_param(run, "scopes");
    return (enum partner_scope)scopes->number[cell % scopes->count];
}
