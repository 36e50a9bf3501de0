/* --dma-latency-us: CPUs stay out of idle states that take longer to leave, while a test measures.
 * Steps of a run. */
#ifndef HS_RUN_DMA_LATENCY_H
#define HS_RUN_DMA_LATENCY_H

#include "run/run.h"

/* Holds the requested bound; an event reports it if a lower one is in force. Sets run->dma_latency,
 * also where the shield holds a bound. 0, or -1 with the outcome (denied, unsupported, failed). */
int dma_latency_hold(struct run *run);

/* Releases the bound. A second call does nothing. */
void dma_latency_release(struct run *run);

#endif
