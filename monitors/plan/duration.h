// Durations in plans, in nanoseconds.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <cstdint>

#include "parsers/api/time.h"

namespace tapline {

inline int64_t ns_of(const google::protobuf::Duration& duration) {
  return duration.seconds() * kNsPerSecond + duration.nanos();
}

}  // namespace tapline
