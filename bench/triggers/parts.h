// The benchmark's parts. Each part measures some cases and appends their rows.
#pragma once

#include "bench/triggers/measurement.h"

namespace tapline::bench {

// Defined in rate.cc:
void rate(Measurements* measurements);
void triggers(Measurements* measurements);
void patterns(Measurements* measurements);
void groups(Measurements* measurements);
void coverage(Measurements* measurements);

// Defined in attack.cc:
void attack(Measurements* measurements);

// Defined in feasible.cc:
void feasible(Measurements* measurements);
void values(Measurements* measurements);

// Defined in overload.cc:
void overload(Measurements* measurements);

// Defined in swap.cc:
void swap(Measurements* measurements);

// Defined in receiving.cc:
void bursts(Measurements* measurements);
void sizes(Measurements* measurements);
void fetches(Measurements* measurements);
void optimisations(Measurements* measurements);
void sweep(Measurements* measurements);

}  // namespace tapline::bench
