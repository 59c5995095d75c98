// Reads hash keys from a file, since any user on the host could read them on a command line.
//
//   00112233445566778899aabbccddeeff     for flows, the same as on the MultiLog nodes, and for strings
//   ffeeddccbbaa99887766554433221100     for strings, if they have a separate key
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

// Reads the file, which may be an inherited descriptor (/proc/self/fd/3). If the path is empty, leaves the keys
// unchanged; the default of all zeros is not secure. Errors never quote the file's content.
Status read_hash_keys(const std::string& path, HashKeys* keys);

}  // namespace tapline
