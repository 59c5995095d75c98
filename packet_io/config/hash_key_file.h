// The keys of hashes, from a file: on a command line everybody on the host could read them.
//
//   00112233445566778899aabbccddeeff     of flows, the same as of the MultiLog nodes, and of texts
//   ffeeddccbbaa99887766554433221100     of texts, if that is another one
#pragma once

#include <string>

#include "packet_io/base/status.h"
#include "parsers/api/flow_hash.h"

namespace tapline {

inline bool operator==(const HashKey& a, const HashKey& b) { return a.low == b.low && a.high == b.high; }

struct HashKeys {
  HashKey flows;
  HashKey texts;

  bool operator==(const HashKeys&) const = default;
};

// The file may be a descriptor that was handed down (/proc/self/fd/3). Without a path the keys stay: those of zeros,
// which everybody knows. What is wrong is told without the text.
Status ReadHashKeys(const std::string& path, HashKeys* keys);

}  // namespace tapline
