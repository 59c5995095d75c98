// The disk side of a MultiLog: writes and loads a journal of rows, for durability, and archived segments, to free
// memory.
//
//   schema             the layout of rows and the number of rows per segment (text)
//   catalogue          the definitions of filters, indexes, aggregates and triggers (text)
//   w3-00000012.wal    writer 3, segment 12, in frames: | magic | crc | first position | rows | row bytes | rows… |
//   w3-00000011.seg    an archived segment (storage/archive.h); its journal has been removed
//
// After SIGKILL or a power cut, loading restores a prefix of each writer's rows. Each mode guarantees that the prefix
// includes:
//   memory         only archived segments
//   interval       every row published at least `interval_ns` (plus one sync) earlier
//   group commit   every row for which commit() returned ok; commits that wait at the same time share a sync
// A journal is written under another name, synced, and only then renamed into place, so a valid copy of the guaranteed
// rows exists at all times. After a failed sync, the file is abandoned and rewritten from memory. Except for durable()
// and unreadable_zones(), functions must be called by one thread at a time (MultiLog's maintenance lock).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "multilog/log/pipeline.h"
#include "multilog/log/writer_log.h"
#include "multilog/storage/archive.h"
#include "multilog/storage/file_system.h"

namespace tapline::multilog {

enum class Durability : uint8_t { kMemory, kInterval, kGroupCommit };

struct StorageOptions {
  std::string directory;
  Durability durability = Durability::kInterval;
  uint64_t interval_ns = 100000000;
  // Archived segments beyond these limits are removed, oldest first; 0: no limit. Age is in event time, relative to the
  // newest row.
  uint64_t retain_bytes = 0;
  uint64_t retain_ns = 0;
  // The zstd level for archived segments.
  int compression_level = 1;
  // The size of the cache for decompressed rows.
  size_t cache_bytes = size_t{64} << 20;
  FileSystem* files = nullptr;  // null: the real file system
};

struct RecoveryReport {
  uint64_t rows = 0, segments = 0;
  uint64_t journal_rows = 0;
  // The number of rows lost to damage, except after the last archived segment, since that number is unknown.
  uint64_t lost_rows = 0;
  // One entry for each file or definition that could not be used, or only in part.
  std::vector<Status> problems;
};

class Storage {
 public:
  Storage(const StorageOptions& options, const Schema& schema, uint32_t segment_rows);

  // Creates the directory if necessary. Returns kInvalid if it contains files with another schema.
  Status open();
  Result<std::string> read_catalogue();
  Status write_catalogue(const std::string& text);

  struct Loader {
    std::function<WriterLog*(uint32_t writer, uint64_t first)> add_log;
    // Appends the journal's rows through the writer's whole pipeline, so that filters and aggregates include them.
    std::function<Status(WriterLog* log, const uint8_t* rows, uint64_t count)> append;
    std::function<std::vector<Index>()> indexes;
  };
  void load(const Loader& loader, RecoveryReport* report);

  // Makes published rows durable. An error affects no row that is already durable, and the next call retries.
  Status flush(const WriterLog& log);
  // Archives a complete segment: later readers use the archive, and the segment's memory is freed.
  Status archive(WriterLog* log, Segment* segment, const std::vector<Index>& indexes);
  // Removes a writer's archived segments, oldest first, until the next one is not too old and `total_bytes_over` bytes
  // have been freed. Returns the number of rows removed.
  Result<uint64_t> retain(WriterLog* log, uint64_t newest_time, uint64_t total_bytes_over);
  uint64_t archived_bytes() const { return archived_bytes_; }

  uint64_t durable(uint32_t writer) const { return writers_[writer].durable.load(std::memory_order_acquire); }
  uint64_t unreadable_zones() const { return unreadable_->load(std::memory_order_relaxed); }
  const StorageOptions& options() const { return options_; }

 private:
  struct PerWriter {
    std::atomic<uint64_t> durable{0};
    std::unique_ptr<File> file;
    uint64_t segment = 0;   // the file's segment
    uint64_t written = 0;   // position up to which rows are in the file
    bool in_place = false;  // the file has its final name
    uint64_t archived_to = 0;
    std::vector<std::pair<uint64_t, uint64_t>> archives;  // segment number and bytes, ascending
  };
  std::string name_of(uint32_t writer, uint64_t segment, const char* suffix) const;
  std::string path(const std::string& name) const { return options_.directory + "/" + name; }
  Status flush_segment(const WriterLog& log, PerWriter* own_writer, uint64_t segment, uint64_t end);
  Status start_file(const WriterLog& log, PerWriter* own_writer, uint64_t segment, uint64_t first);
  Status put_in_place(const WriterLog& log, PerWriter* own_writer);
  Status append_frames(const WriterLog& log, PerWriter* own_writer, uint64_t end);
  void load_writer(uint32_t writer, const std::vector<uint64_t>& archives, const std::vector<uint64_t>& journals,
                   const Loader& loader, RecoveryReport* report);
  bool load_segment(WriterLog* log, uint64_t segment, const Loader& loader, RecoveryReport* report);
  // Loads a segment's journal, which must begin at `position`, up to the first invalid frame. Returns its row count. If
  // `loader` is null, the rows are only counted.
  uint64_t load_journal(WriterLog* log, uint64_t segment, uint64_t position, const Loader* loader,
                        RecoveryReport* report);
  static void set_indexes(LoadedArchive* loaded_archive, const std::vector<Index>& indexes);

  StorageOptions options_;
  const Schema schema_;
  const uint32_t segment_rows_;
  uint32_t schema_crc_;
  FileSystem* files_;
  std::array<PerWriter, kMaxWriters> writers_;
  uint64_t archived_bytes_ = 0;
  std::shared_ptr<ArchiveCache> cache_;
  std::shared_ptr<std::atomic<uint64_t>> unreadable_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace tapline::multilog
