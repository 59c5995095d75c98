// A monitor's threads: lanes that receive and parse (run to completion), or one lane that receives and groups of
// workers that parse (pipeline mode).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

struct WorkerLayout {
  // The canonical names of the parsers.
  std::vector<std::string> parsers;
  uint32_t threads = 1;
  bool operator==(const WorkerLayout&) const = default;
};

struct ThreadLayout {
  static constexpr uint32_t kMaxThreads = 64;
  static constexpr size_t kMaxGroups = 16;

  uint32_t lanes = 1;
  // If empty, lanes run to completion.
  std::vector<WorkerLayout> workers;

  bool is_default() const { return *this == ThreadLayout(); }
  bool operator==(const ThreadLayout&) const = default;

  // Appends a group. Fails if a parser is unknown or in another group, or if there are too many threads or groups.
  Status add(const std::vector<std::string>& parsers, uint32_t threads);
  // Fails if one of the parsers must see all traffic (Schema::all_traffic) but would share it with other threads.
  Status check(std::span<const std::string> parsers) const;
  // Returns the groups and, if some of `parsers` are in none, a group with a single thread for those.
  std::vector<WorkerLayout> covering(std::span<const std::string> parsers) const;
};

// Adds a group for each item, such as "http_get=2" (two threads) or "tcp_conn_time+tcp_pkt_size" (one thread for both).
Status parse_workers(std::span<const std::string> items, ThreadLayout* layout);

}  // namespace tapline
