// An archived segment is one file, compressed in zones of 1024 rows, so that a query decompresses only the zones that
// it needs. The postings of its indexes are used directly from the mapping.
//
//   | header | zone table | index table | compressed zones… | keys, starts, offsets per index… |
//
// A zone's rows are transposed to byte planes (all first bytes, all second bytes, …), then compressed with zstd. The
// header with the tables, each zone and each index have separate CRC-32Cs, so a damaged index is only omitted, and a
// damaged zone makes the segment unreadable only to queries that need this zone. docs/reference/multilog.md describes
// the bytes.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "multilog/log/segment.h"
#include "multilog/storage/file_system.h"

namespace tapline::multilog {

// An LRU cache of decompressed rows of archived segments. The limit does not include evicted rows that readers still
// hold, and the entry used last stays even if it exceeds the limit. Thread-safe.
class ArchiveCache {
 public:
  explicit ArchiveCache(size_t bytes) : limit_(bytes) {}
  struct Entry {
    std::mutex mutex;
    std::unique_ptr<uint8_t[]> rows;
    size_t bytes = 0;
    uint64_t zones = 0;  // bits of the zones present
  };
  // Returns the owner's entry; creates one of `bytes` if there is none.
  std::shared_ptr<Entry> get(const void* owner, size_t bytes);
  void drop(const void* owner);

 private:
  struct CachedEntry {
    const void* owner;
    std::shared_ptr<Entry> entry;
  };
  const size_t limit_;
  std::mutex mutex_;
  std::list<CachedEntry> entries_;  // most recently used first
  std::unordered_map<const void*, std::list<CachedEntry>::iterator> by_owner_;
  size_t bytes_ = 0;
};

// Returns the contents of a complete segment's file. `indexes` are the indexes to store, with their fields' names.
std::vector<uint8_t> encode_archive(const Segment& segment, uint32_t schema_crc, int compression_level,
                                    const std::vector<std::pair<std::string, const Postings*>>& indexes);

struct LoadedArchive {
  std::unique_ptr<Segment> segment;
  std::vector<std::pair<std::string, Postings>> indexes;
};
// Creates a segment that reads its rows from the file, with all indexes that are intact. Returns kCorrupt if the header
// is damaged or describes another schema. `unreadable` counts later reads that fail because a zone is corrupt.
Result<LoadedArchive> load_archive(std::shared_ptr<const MappedFile> file, const std::string& path, uint32_t schema_crc,
                                   uint32_t row_bytes, std::shared_ptr<ArchiveCache> cache,
                                   std::shared_ptr<std::atomic<uint64_t>> unreadable);

}  // namespace tapline::multilog
