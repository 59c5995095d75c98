// The benchmark's parts: each measures some cases, and appends their rows.
#pragma once

#include "bench/triggers/measurement.h"

namespace tapline::bench {

// rate.cc
void rate(Measurements* to);
void triggers(Measurements* to);
void patterns(Measurements* to);
void groups(Measurements* to);
void coverage(Measurements* to);

// attack.cc
void attack(Measurements* to);

// feasible.cc
void feasible(Measurements* to);

// overload.cc
void overload(Measurements* to);

// swap.cc
void swap(Measurements* to);

// receiving.cc
void bursts(Measurements* to);
void sizes(Measurements* to);
void fetches(Measurements* to);
void optimisations(Measurements* to);
void sweep(Measurements* to);

}  // namespace tapline::bench
