#pragma once

#include <map>
#include <string>
#include <vector>

#include "parsers/http_get/degraded/degrade.h"
#include "parsers/testing/frames.h"
#include "parsers/transactions/degraded/condition.h"
#include "parsers/transactions/degraded/pair_judge.h"

namespace tapline::testing {

// A capture to be degraded, and the results required of a parser: an entry of `degraded` in a parser's traffic.json
// (README.md lists its keys).
struct Subject {
  std::string name = {};
  JudgedTuple judged = {};
  std::string capture = {};  // path in the repository, or name among the reference captures
  http::ServerPorts servers = {};
  size_t copies = 1;                     // number of copies, with different addresses
  size_t skip = 0;                       // frames to skip
  size_t frames = SIZE_MAX;              // number of frames to use after these
  std::map<std::string, Bar> bars = {};  // by condition name; each replaces that condition's bar
  bool has_damaged = false;
  bool emits_requests_alone = false, emits_responses_alone = false;
};

// Reads the subjects of all parsers, sorted by name. Aborts on a file that does not match README.md.
std::vector<Subject> read_subjects();

// Returns `count` frames after the first `skip` of the subject's capture, with its copies; empty if the capture is
// missing.
std::vector<Frame> frames_of(const Subject& subject, size_t skip, size_t count);

}  // namespace tapline::testing
