#pragma once

#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {

// Minimum shares of correct results, and the maximum share of wrong ones.
struct Bar {
  double right = 0;    // share of pairs reported, at least in part, among those whose request has its own frame
  double batched = 0;  // as above, for the other pairs
  double wrong = 0;
};

// One row of each parser's table: how a mirror delivers a capture, and the results that every parser must then achieve.
// A parser that can't reach them has a separate bar (README.md says why).
struct Condition {
  std::string name;
  http::Mirror mirror = {};
  JudgedCapture capture = {};
  bool from_middle = false;  // begins at a random position, in the tenth that the seed selects
  Bar bar = {};
};

const std::vector<Condition>& conditions();

// Returns the frames as the mirror delivers them. Any `seed` works.
http::Degraded degraded(const std::vector<Frame>& frames, const Condition& condition, uint32_t seed);

}  // namespace tapline::testing
