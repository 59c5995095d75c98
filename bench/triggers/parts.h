// The benchmark's parts: each measures some cases, and appends their rows.
#pragma once

#include "bench/triggers/measurement.h"

namespace tapline::bench {

// rate.cc
void rate(Measurements* measurements);
void triggers(Measurements* measurements);
void patterns(Measurements* measurements);
void groups(Measurements* measurements);
void coverage(Measurements* measurements);

// attack.cc
void attack(Measurements* measurements);

// feasible.cc
void feasible(Measurements* measurements);
void values(Measurements* measurements);

// overload.cc
void overload(Measurements* measurements);

// swap.cc
void swap(Measurements* measurements);

// receiving.cc
void bursts(Measurements* measurements);
void sizes(Measurements* measurements);
void fetches(Measurements* measurements);
void optimisations(Measurements* measurements);
void sweep(Measurements* measurements);

}  // namespace tapline::bench
