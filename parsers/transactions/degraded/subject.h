#pragma once

#include <map>
#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/testing/frames.h"
#include "parsers/transactions/degraded/condition.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {

// A capture to be degraded, and what a parser has to make of it: an entry of `degraded` in a parser's traffic.json
// (README.md has its keys).
struct Subject {
  std::string name = {};
  JudgedTuple judged = {};
  std::string capture = {};  // in the repository, or of the reference captures
  http::ServerPorts servers = {};
  size_t copies = 1;                     // with other addresses
  size_t skip = 0;                       // frames
  size_t frames = SIZE_MAX;              // to use after these
  std::map<std::string, Bar> bars = {};  // instead of a condition's own, by its name
  bool has_damaged = false;
  bool tells_requests_alone = false, tells_responses_alone = false;
};

// Of all parsers, in the order of their names. Aborts on a file that is not as README.md says.
std::vector<Subject> read_subjects();

// `count` frames behind the first `skip` of the subject's capture, with its copies; none where it is not there.
std::vector<Frame> frames_of(const Subject& subject, size_t skip, size_t count);

}  // namespace tapline::testing
