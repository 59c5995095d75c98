#pragma once

#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {

// Least shares of what must be told, and the largest of what may be wrong.
struct Bar {
  double right = 0;    // told, of pairs that share their request's frame with no other, with those told in part
  double batched = 0;  // the same of the others
  double wrong = 0;
};

// One row of the table for each parser: how a mirror delivers a capture, and what is expected of every parser then. A
// parser that can't reach it has a bar of its own (README.md says why).
struct Condition {
  std::string name;
  http::Mirror mirror = {};
  JudgedCapture capture = {};
  bool from_middle = false;  // from a tenth of the capture after the other, at random within it
  Bar bar = {};
};

const std::vector<Condition>& conditions();

// How `frames` come from the mirror. `seed` is any.
http::Degraded degraded(const std::vector<Frame>& frames, const Condition& condition, uint32_t seed);

}  // namespace tapline::testing
