// The schema of paper_rows.h.
#pragma once

#include "multilog/base/conditions.h"
#include "multilog/testing/paper_rows.h"

namespace tapline::multilog {

inline Schema paper_schema() {
  return *Schema::make({{.name = "time_ns", .type = FieldType::kTime},
                        {.name = "src_ip", .type = FieldType::kIpv4},
                        {.name = "dst_ip", .type = FieldType::kIpv4},
                        {.name = "src_port", .type = FieldType::kU16},
                        {.name = "dst_port", .type = FieldType::kU16},
                        {.name = "seq", .type = FieldType::kU32},
                        {.name = "ack", .type = FieldType::kU32},
                        {.name = "window", .type = FieldType::kU16},
                        {.name = "bytes", .type = FieldType::kU16},
                        {.name = "flags", .type = FieldType::kU8},
                        {.name = "ttl", .type = FieldType::kU8},
                        {.name = "rest", .type = FieldType::kBytes, .bytes = 20}});
}

}  // namespace tapline::multilog
