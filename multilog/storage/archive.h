// An archived segment is one file, compressed by zones of 1024 rows, so that a query fetches only the zones that it
// needs. The postings of its indexes can be used directly from the mapping.
//
//   | header | zone 0 … n-1 | index 0 … m-1 | crc of all this | compressed zones… | keys, starts, offsets per index… |
//
// A zone's rows are transposed to byte planes (all first bytes, all second bytes, …), then compressed with zstd. Each
// part has a separate CRC-32C, so damage to a zone makes only that zone's rows unreadable.
// docs/reference/multilog-files.md describes the bytes.
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

// The most recently used decompressed rows of archived segments, up to a limit that does not count rows held by
// readers.
class ArchiveCache {
 public:
  explicit ArchiveCache(size_t bytes) : limit_(bytes) {}
  struct Entry {
    std::mutex mutex;
    std::unique_ptr<uint8_t[]> rows;
    size_t bytes = 0;
    uint64_t zones = 0;  // bits of the zones present
  };
  // Returns an owner's entry, which is created if necessary.
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

// Encodes the file. `indexes` are the indexes to store, by the names of their fields.
std::vector<uint8_t> encode_archive(const Segment& segment, uint32_t schema_crc, int compression_level,
                                    const std::vector<std::pair<std::string, const Postings*>>& indexes);

struct LoadedArchive {
  std::unique_ptr<Segment> segment;
  std::vector<std::pair<std::string, Postings>> indexes;
};
// Creates a segment that reads its rows from the file. Returns kCorrupt if the header is damaged. `unreadable`, shared
// with the storage, counts zones that later turn out to be corrupt.
Result<LoadedArchive> load_archive(std::shared_ptr<const MappedFile> file, const std::string& path, uint32_t schema_crc,
                                   uint32_t row_bytes, std::shared_ptr<ArchiveCache> cache,
                                   std::shared_ptr<std::atomic<uint64_t>> unreadable);

}  // namespace tapline::multilog
