#include "multilog/storage/archive.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "multilog/storage/crc32c.h"

namespace tapline::multilog {
namespace {

constexpr char kMagic[8] = {'T', 'L', 'M', 'L', 'S', 'E', 'G', '1'};

struct Header {
  char magic[8];
  uint64_t first;
  uint32_t rows, row_bytes, zones, indexes, schema_crc,
      directory_crc;  // the last field: CRC of everything up to the data, computed with 0 in this field
};
struct ZoneEntry {
  uint64_t low, high, at;
  uint32_t bytes, crc;
};
struct IndexEntry {
  char field[72];
  uint64_t keys_at, starts_at, offsets_at, end;
  uint64_t min_key, max_key;
  uint32_t key_bytes, distinct, rows, crc;
};
static_assert(sizeof(Header) == 40 && sizeof(ZoneEntry) == 32 && sizeof(IndexEntry) == 136);

void align(std::vector<uint8_t>* out) { out->resize((out->size() + 7) / 8 * 8); }

uint64_t put(std::vector<uint8_t>* out, const void* data, size_t bytes) {
  align(out);
  const uint64_t offset = out->size();
  const auto* input = static_cast<const uint8_t*>(data);
  out->insert(out->end(), input, input + bytes);
  return offset;
}

void transpose(const uint8_t* rows, uint32_t count, uint32_t row_bytes, uint8_t* planes) {
  for (uint32_t byte = 0; byte < row_bytes; ++byte) {
    for (uint32_t i = 0; i < count; ++i) planes[size_t{byte} * count + i] = rows[size_t{i} * row_bytes + byte];
  }
}
void transpose_back(const uint8_t* planes, uint32_t count, uint32_t row_bytes, uint8_t* rows) {
  for (uint32_t byte = 0; byte < row_bytes; ++byte) {
    for (uint32_t i = 0; i < count; ++i) rows[size_t{i} * row_bytes + byte] = planes[size_t{byte} * count + i];
  }
}

size_t directory_bytes(uint32_t zones, uint32_t indexes) {
  return sizeof(Header) + zones * sizeof(ZoneEntry) + indexes * sizeof(IndexEntry);
}

uint32_t directory_crc(std::span<const uint8_t> file, Header header) {
  header.directory_crc = 0;
  const uint32_t crc = crc32c(&header, sizeof header);
  return crc32c(file.data() + sizeof header, directory_bytes(header.zones, header.indexes) - sizeof header, crc);
}

class ArchivedRows final : public Segment::RowSource {
 public:
  ArchivedRows(std::shared_ptr<const MappedFile> file, const Header& header, std::shared_ptr<ArchiveCache> cache,
               std::shared_ptr<std::atomic<uint64_t>> unreadable)
      : file_(std::move(file)), header_(header), cache_(std::move(cache)), unreadable_(std::move(unreadable)) {}
  ~ArchivedRows() override { cache_->drop(this); }

  std::shared_ptr<const uint8_t> rows(uint64_t wanted) override {
    const auto entry = cache_->get(this, size_t{header_.rows} * header_.row_bytes);
    const std::lock_guard lock(entry->mutex);
    for (uint32_t zone = 0; zone < header_.zones; ++zone) {
      const uint64_t bit = uint64_t{1} << zone;
      if (!(wanted & bit) || (entry->zones & bit)) continue;
      if (!decompress(zone, entry->rows.get())) {
        unreadable_->fetch_add(1, std::memory_order_relaxed);
        return nullptr;
      }
      entry->zones |= bit;
    }
    return {entry, entry->rows.get()};
  }

 private:
  bool decompress(uint32_t zone, uint8_t* rows) const {
    const auto data = file_->data();
    ZoneEntry entry;
    std::memcpy(&entry, data.data() + sizeof(Header) + zone * sizeof entry, sizeof entry);
    if (entry.at > data.size() || entry.bytes > data.size() - entry.at) return false;
    if (crc32c(data.data() + entry.at, entry.bytes) != entry.crc) return false;
    const uint32_t count = std::min(kChunkRows, header_.rows - zone * kChunkRows);
    std::vector<uint8_t> planes(size_t{count} * header_.row_bytes);
    const size_t size = ZSTD_decompress(planes.data(), planes.size(), data.data() + entry.at, entry.bytes);
    if (ZSTD_isError(size) || size != planes.size()) return false;
    transpose_back(planes.data(), count, header_.row_bytes, rows + size_t{zone} * kChunkRows * header_.row_bytes);
    return true;
  }

  const std::shared_ptr<const MappedFile> file_;
  const Header header_;
  const std::shared_ptr<ArchiveCache> cache_;
  const std::shared_ptr<std::atomic<uint64_t>> unreadable_;
};

// A segment that keeps its file mapped, since its postings point into the mapping.
class ArchivedSegment final : public Segment {
 public:
  ArchivedSegment(std::shared_ptr<const MappedFile> file, const Header& header)
      : Segment(header.first, header.rows, header.row_bytes, nullptr, 0, nullptr), file_(std::move(file)) {}

 private:
  const std::shared_ptr<const MappedFile> file_;
};

// Makes `postings` point into the file. Returns false if the index is damaged.
bool load_index(std::span<const uint8_t> file, const IndexEntry& entry, Postings* postings) {
  const bool known_width = entry.key_bytes == 1 || entry.key_bytes == 2 || entry.key_bytes == 4 || entry.key_bytes == 8;
  if (!known_width || entry.end > file.size() || entry.keys_at > entry.starts_at ||
      entry.starts_at > entry.offsets_at || entry.offsets_at > entry.end || entry.keys_at % 8 != 0 ||
      entry.starts_at % 8 != 0 || entry.offsets_at % 8 != 0)
    return false;
  if (uint64_t{entry.distinct} * entry.key_bytes > entry.starts_at - entry.keys_at ||
      (uint64_t{entry.distinct} + 1) * 4 > entry.offsets_at - entry.starts_at ||
      uint64_t{entry.rows} * 2 > entry.end - entry.offsets_at)
    return false;
  if (crc32c(file.data() + entry.keys_at, entry.end - entry.keys_at) != entry.crc) return false;
  postings->key_bytes = entry.key_bytes;
  postings->distinct = entry.distinct;
  postings->rows = entry.rows;
  postings->keys = file.data() + entry.keys_at;
  postings->starts = reinterpret_cast<const uint32_t*>(file.data() + entry.starts_at);
  postings->offsets = reinterpret_cast<const uint16_t*>(file.data() + entry.offsets_at);
  postings->min_key = entry.min_key;
  postings->max_key = entry.max_key;
  return true;
}

}  // namespace

std::shared_ptr<ArchiveCache::Entry> ArchiveCache::get(const void* owner, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto it = by_owner_.find(owner); it != by_owner_.end()) {
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->entry;
  }
  auto entry = std::make_shared<Entry>();
  entry->rows = std::make_unique_for_overwrite<uint8_t[]>(bytes);
  entry->bytes = bytes;
  entries_.push_front({owner, entry});
  by_owner_[owner] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > limit_ && entries_.size() > 1) {
    bytes_ -= entries_.back().entry->bytes;
    by_owner_.erase(entries_.back().owner);
    entries_.pop_back();
  }
  return entry;
}

void ArchiveCache::drop(const void* owner) {
  const std::lock_guard lock(mutex_);
  const auto it = by_owner_.find(owner);
  if (it == by_owner_.end()) return;
  bytes_ -= it->second->entry->bytes;
  entries_.erase(it->second);
  by_owner_.erase(it);
}

std::vector<uint8_t> encode_archive(const Segment& segment, uint32_t schema_crc, int level,
                                    const std::vector<std::pair<std::string, const Postings*>>& indexes) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.first = segment.first();
  header.rows = segment.capacity();
  header.row_bytes = segment.row_bytes();
  header.zones = segment.zones();
  header.indexes = static_cast<uint32_t>(indexes.size());
  header.schema_crc = schema_crc;
  std::vector<uint8_t> out(directory_bytes(header.zones, header.indexes));
  std::vector<uint8_t> planes, packed;
  for (uint32_t zone = 0; zone < header.zones; ++zone) {
    const uint32_t count = std::min(kChunkRows, header.rows - zone * kChunkRows);
    planes.resize(size_t{count} * header.row_bytes);
    transpose(segment.row(zone * kChunkRows), count, header.row_bytes, planes.data());
    packed.resize(ZSTD_compressBound(planes.size()));
    const size_t bytes = ZSTD_compress(packed.data(), packed.size(), planes.data(), planes.size(), level);
    const ZoneEntry entry{segment.zone_low(zone), segment.zone_high(zone), put(&out, packed.data(), bytes),
                          static_cast<uint32_t>(bytes), crc32c(packed.data(), bytes)};
    std::memcpy(out.data() + sizeof header + zone * sizeof entry, &entry, sizeof entry);
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    const Postings& postings = *indexes[i].second;
    IndexEntry entry{};
    std::strncpy(entry.field, indexes[i].first.c_str(), sizeof entry.field - 1);
    entry.key_bytes = postings.key_bytes;
    entry.distinct = postings.distinct;
    entry.rows = postings.rows;
    entry.min_key = postings.min_key;
    entry.max_key = postings.max_key;
    entry.keys_at = put(&out, postings.keys, size_t{postings.distinct} * postings.key_bytes);
    entry.starts_at = put(&out, postings.starts, (size_t{postings.distinct} + 1) * 4);
    entry.offsets_at = put(&out, postings.offsets, size_t{postings.rows} * 2);
    entry.end = out.size();
    entry.crc = crc32c(out.data() + entry.keys_at, entry.end - entry.keys_at);
    std::memcpy(out.data() + directory_bytes(header.zones, static_cast<uint32_t>(i)), &entry, sizeof entry);
  }
  std::memcpy(out.data(), &header, sizeof header);
  header.directory_crc = directory_crc(out, header);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<LoadedArchive> load_archive(std::shared_ptr<const MappedFile> file, const std::string& path, uint32_t schema_crc,
                                   uint32_t row_bytes, std::shared_ptr<ArchiveCache> cache,
                                   std::shared_ptr<std::atomic<uint64_t>> unreadable) {
  const auto data = file->data();
  Header header;
  if (data.size() < sizeof header) return Status(Code::kCorrupt, path + " is too short");
  std::memcpy(&header, data.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return Status(Code::kCorrupt, path + " is not an archived segment");
  if (header.rows == 0 || header.rows > kMaxSegmentRows ||
      header.zones != (header.rows + kChunkRows - 1) / kChunkRows || header.indexes > kMaxIndexes ||
      directory_bytes(header.zones, header.indexes) > data.size() ||
      directory_crc(data, header) != header.directory_crc)
    return Status(Code::kCorrupt, path + " has a damaged header");
  if (header.schema_crc != schema_crc || header.row_bytes != row_bytes)
    return Status(Code::kCorrupt, path + " has a different schema");
  LoadedArchive loaded_archive;
  loaded_archive.segment = std::make_unique<ArchivedSegment>(file, header);
  for (uint32_t zone = 0; zone < header.zones; ++zone) {
    ZoneEntry entry;
    std::memcpy(&entry, data.data() + sizeof header + zone * sizeof entry, sizeof entry);
    loaded_archive.segment->widen_zones(zone * kChunkRows, 1, entry.low, entry.high);
  }
  for (uint32_t i = 0; i < header.indexes; ++i) {
    IndexEntry entry;
    std::memcpy(&entry, data.data() + directory_bytes(header.zones, i), sizeof entry);
    entry.field[sizeof entry.field - 1] = '\0';
    Postings postings;
    if (load_index(data, entry, &postings)) loaded_archive.indexes.emplace_back(entry.field, postings);
  }
  loaded_archive.segment->complete.store(true, std::memory_order_relaxed);
  loaded_archive.segment->source =
      std::make_unique<ArchivedRows>(std::move(file), header, std::move(cache), std::move(unreadable));
  return loaded_archive;
}

}  // namespace tapline::multilog
