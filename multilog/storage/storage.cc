#include "multilog/storage/storage.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "multilog/storage/crc32c.h"

namespace tapline::multilog {
namespace {

constexpr uint32_t kFrameMagic = 0x4c574c54;  // "TLWL"
constexpr uint64_t kFrameRows = 8192;

struct Frame {
  uint32_t magic;
  uint32_t crc;  // checksum of the frame's remaining fields and its rows
  uint64_t first;
  uint32_t rows;
  uint32_t row_bytes;
};
static_assert(sizeof(Frame) == 24);

uint32_t crc_of(const Frame& frame, const uint8_t* rows) {
  const uint32_t crc = crc32c(&frame.first, sizeof frame - 8);
  return crc32c(rows, size_t{frame.rows} * frame.row_bytes, crc);
}

// Parses a name such as "w3-00000012.wal".
bool parse_name(const std::string& name, uint32_t* writer, uint64_t* segment, std::string* suffix) {
  char rest[8] = {};
  unsigned w;
  unsigned long long s;
  if (std::sscanf(name.c_str(), "w%u-%llu.%7s", &w, &s, rest) != 3 || w >= kMaxWriters) return false;
  *writer = w;
  *segment = s;
  *suffix = rest;
  return true;
}

std::string text_of(std::span<const uint8_t> data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Storage::Storage(const StorageOptions& options, const Schema& schema, uint32_t segment_rows)
    : options_(options),
      schema_(schema),
      segment_rows_(segment_rows),
      files_(options.files != nullptr ? options.files : posix_file_system()),
      cache_(std::make_shared<ArchiveCache>(options.cache_bytes)) {
  const std::string text = schema.to_text() + "segment_rows " + std::to_string(segment_rows) + "\n";
  schema_crc_ = crc32c(text.data(), text.size());
}

std::string Storage::name_of(uint32_t writer, uint64_t segment, const char* suffix) const {
  char name[64];
  std::snprintf(name, sizeof name, "w%u-%08llu.%s", writer, static_cast<unsigned long long>(segment), suffix);
  return name;
}

Status Storage::open() {
  if (Status status = files_->make_directory(options_.directory); !status.ok()) return status;
  const std::string text = schema_.to_text() + "segment_rows " + std::to_string(segment_rows_) + "\n";
  const auto present = files_->map(path("schema"));
  if (!present.ok()) {
    if (present.status().code() != Code::kNotFound) return present.status();
    return write_all(files_, options_.directory, "schema", bytes_of(text));
  }
  if (text_of((*present)->data()) != text)
    return {Code::kInvalid, options_.directory + " contains rows with another schema:\n" + text_of((*present)->data())};
  return {};
}

Result<std::string> Storage::read_catalogue() {
  const auto present = files_->map(path("catalogue"));
  if (present.ok()) return text_of((*present)->data());
  if (present.status().code() == Code::kNotFound) return std::string();
  return present.status();
}

Status Storage::write_catalogue(const std::string& text) {
  return write_all(files_, options_.directory, "catalogue", bytes_of(text));
}

Status Storage::flush(const WriterLog& log) {
  PerWriter& own_writer = writers_[log.number()];
  const uint64_t tail = log.tail();
  uint64_t position = std::max(own_writer.durable.load(std::memory_order_relaxed), log.first());
  while (position < tail) {
    const uint64_t segment = position / segment_rows_, end = std::min(tail, (segment + 1) * segment_rows_);
    if (Status status = flush_segment(log, &own_writer, segment, end); !status.ok()) {
      own_writer.file.reset();
      return status;
    }
    own_writer.durable.store(end, std::memory_order_release);
    position = end;
  }
  return {};
}

Status Storage::flush_segment(const WriterLog& log, PerWriter* own_writer, uint64_t segment, uint64_t end) {
  if (own_writer->file == nullptr || own_writer->segment != segment) {
    if (Status status = start_file(log, own_writer, segment, std::max(segment * segment_rows_, log.first()));
        !status.ok())
      return status;
  }
  if (Status status = append_frames(log, own_writer, end); !status.ok()) return status;
  if (Status status = own_writer->file->sync(); !status.ok()) return status;
  return own_writer->in_place ? Status() : put_in_place(log, own_writer);
}

Status Storage::start_file(const WriterLog& log, PerWriter* own_writer, uint64_t segment, uint64_t first) {
  auto file = files_->create(path(name_of(log.number(), segment, "wal.new")));
  if (!file.ok()) return file.status();
  own_writer->file = std::move(*file);
  own_writer->segment = segment;
  own_writer->written = first;
  own_writer->in_place = false;
  return {};
}

Status Storage::put_in_place(const WriterLog& log, PerWriter* own_writer) {
  const std::string name = path(name_of(log.number(), own_writer->segment, "wal"));
  if (Status status = files_->rename(name + ".new", name); !status.ok()) return status;
  if (Status status = files_->sync_directory(options_.directory); !status.ok()) return status;
  own_writer->in_place = true;
  return {};
}

Status Storage::append_frames(const WriterLog& log, PerWriter* own_writer, uint64_t end) {
  while (own_writer->written < end) {
    Segment* segment = log.segment_at(own_writer->written);
    if (segment == nullptr || segment->source != nullptr) {
      // The segment has been archived or removed in the meantime, so it needs no journal.
      own_writer->written = end;
      return {};
    }
    Frame frame{kFrameMagic, 0, own_writer->written,
                static_cast<uint32_t>(std::min(end - own_writer->written, kFrameRows)), schema_.row_bytes()};
    const uint8_t* rows = segment->row(static_cast<uint32_t>(own_writer->written - segment->first()));
    frame.crc = crc_of(frame, rows);
    if (Status status = own_writer->file->append(&frame, sizeof frame); !status.ok()) return status;
    if (Status status = own_writer->file->append(rows, size_t{frame.rows} * frame.row_bytes); !status.ok())
      return status;
    own_writer->written += frame.rows;
  }
  return {};
}

Status Storage::archive(WriterLog* log, Segment* segment, const std::vector<Index>& indexes) {
  std::vector<std::pair<std::string, const Postings*>> kept;
  for (const Index& index : indexes) {
    const Postings* postings = segment->index_of(index.id);
    if (postings != nullptr && !postings->sorted) kept.emplace_back(index.name(), postings);
  }
  const uint64_t number = segment->first() / segment_rows_;
  const std::vector<uint8_t> bytes = encode_archive(*segment, schema_crc_, options_.compression_level, kept);
  const std::string name = name_of(log->number(), number, "seg");
  if (Status status = write_all(files_, options_.directory, name, bytes); !status.ok()) return status;
  auto file = files_->map(path(name));
  if (!file.ok()) return file.status();
  auto loaded = load_archive(*file, name, schema_crc_, schema_.row_bytes(), cache_, unreadable_);
  if (!loaded.ok()) return loaded.status();
  set_indexes(&*loaded, indexes);
  const uint64_t end = segment->first() + segment->capacity();
  PerWriter& own_writer = writers_[log->number()];
  if (own_writer.file != nullptr && own_writer.segment == number) own_writer.file.reset();
  log->replace(segment->first(), std::move(loaded->segment));
  own_writer.archives.emplace_back(number, bytes.size());
  archived_bytes_ += bytes.size();
  if (own_writer.durable.load(std::memory_order_relaxed) < end)
    own_writer.durable.store(end, std::memory_order_release);
  (void)files_->remove(path(name_of(log->number(), number, "wal"))).ok();
  return {};
}

void Storage::set_indexes(LoadedArchive* loaded_archive, const std::vector<Index>& indexes) {
  for (const auto& [field, postings] : loaded_archive->indexes) {
    for (const Index& index : indexes) {
      if (index.name() != field || index.column.key_bytes() != postings.key_bytes) continue;
      void* place = loaded_archive->segment->allocate(sizeof(Postings));
      if (place == nullptr) continue;
      auto* copy = new (place) Postings(postings);
      copy->index = index.id;
      loaded_archive->segment->set_index(copy);
    }
  }
}

Result<uint64_t> Storage::retain(WriterLog* log, uint64_t newest_time, uint64_t bytes_over) {
  PerWriter& own_writer = writers_[log->number()];
  uint64_t removed = 0, freed = 0;
  while (!own_writer.archives.empty()) {
    const auto [number, bytes] = own_writer.archives.front();
    const uint64_t first = number * segment_rows_;
    Segment* segment = log->segment_at(first);
    const uint64_t newest = segment != nullptr ? segment->max_time() : 0;
    const bool too_old =
        options_.retain_ns != 0 && newest_time > options_.retain_ns && newest < newest_time - options_.retain_ns;
    if (!too_old && freed >= bytes_over) break;
    const std::string archive = path(name_of(log->number(), number, "seg"));
    if (Status status = files_->remove(archive); !status.ok() && status.code() != Code::kNotFound) return status;
    removed += first + segment_rows_ - std::max(first, log->first());
    log->remove_before(first + segment_rows_);
    freed += bytes;
    archived_bytes_ -= bytes;
    own_writer.archives.erase(own_writer.archives.begin());
  }
  return removed;
}

void Storage::load(const Loader& loader, RecoveryReport* report) {
  const auto names = files_->list(options_.directory);
  if (!names.ok()) return report->problems.push_back(names.status());
  std::map<uint32_t, std::pair<std::vector<uint64_t>, std::vector<uint64_t>>> writers;
  uint32_t last = 0;
  for (const std::string& name : *names) {
    uint32_t writer;
    uint64_t segment;
    std::string suffix;
    if (!parse_name(name, &writer, &segment, &suffix)) continue;
    if (suffix == "seg") writers[writer].first.push_back(segment);
    if (suffix == "wal") writers[writer].second.push_back(segment);
    // Rows are reported as durable only after their file has been renamed into place.
    if (suffix == "seg.new" || suffix == "wal.new") (void)files_->remove(path(name)).ok();
    if (suffix == "seg" || suffix == "wal") last = std::max(last, writer + 1);
  }
  for (uint32_t writer = 0; writer < last; ++writer) {
    auto& [archives, journals] = writers[writer];
    std::sort(archives.begin(), archives.end());
    std::sort(journals.begin(), journals.end());
    load_writer(writer, archives, journals, loader, report);
  }
}

void Storage::load_writer(uint32_t writer, const std::vector<uint64_t>& archives, const std::vector<uint64_t>& journals,
                          const Loader& loader, RecoveryReport* report) {
  const bool is_empty = archives.empty() && journals.empty();
  const uint64_t begin =
      is_empty ? 0
               : std::min(archives.empty() ? ~uint64_t{0} : archives[0], journals.empty() ? ~uint64_t{0} : journals[0]);
  WriterLog* log = loader.add_log(writer, begin * segment_rows_);
  if (is_empty || log == nullptr) return;
  uint64_t next = begin;
  bool is_cut = false;  // the log ends within a segment
  const uint64_t archived_end = archives.empty() ? begin : archives.back() + 1;
  for (; next < archived_end; ++next) {
    const uint64_t first = next * segment_rows_;
    if (std::binary_search(archives.begin(), archives.end(), next) && load_segment(log, next, loader, report)) continue;
    // The segment's journal still exists if the process died before it could remove it.
    if (std::binary_search(journals.begin(), journals.end(), next)) {
      // A log can end within a segment, but not continue behind a part of one.
      RecoveryReport unused;
      const bool is_usable =
          next + 1 == archived_end || load_journal(log, next, first, nullptr, &unused) == segment_rows_;
      const uint64_t rows = is_usable ? load_journal(log, next, first, &loader, report) : 0;
      report->lost_rows += segment_rows_ - rows;
      if (rows < segment_rows_)
        report->problems.push_back({Code::kCorrupt, name_of(writer, next, "wal") + " is truncated"});
      if (rows == segment_rows_) continue;
      is_cut = rows > 0;
      if (is_cut) break;
    } else {
      report->lost_rows += segment_rows_;
      if (!std::binary_search(archives.begin(), archives.end(), next))
        report->problems.push_back({Code::kCorrupt, name_of(writer, next, "seg") + " is missing"});
    }
    log->load(nullptr, first, segment_rows_);
  }
  for (; !is_cut && std::binary_search(journals.begin(), journals.end(), next); ++next) {
    const uint64_t rows = load_journal(log, next, next * segment_rows_, &loader, report);
    report->journal_rows += rows;
    if (rows < segment_rows_) break;
  }
  // Rows after a gap in the journal are not part of the prefix, so they are set aside and not used.
  for (const uint64_t journal : journals) {
    if (journal <= next) continue;
    report->problems.push_back({Code::kCorrupt, name_of(writer, journal, "wal") + " follows a gap; set aside"});
    (void)files_->rename(path(name_of(writer, journal, "wal")), path(name_of(writer, journal, "wal.orphan"))).ok();
  }
  report->rows += log->tail() - log->first();
  writers_[writer].durable.store(log->tail(), std::memory_order_relaxed);
}

bool Storage::load_segment(WriterLog* log, uint64_t segment, const Loader& loader, RecoveryReport* report) {
  const std::string name = name_of(log->number(), segment, "seg");
  auto file = files_->map(path(name));
  Result<LoadedArchive> loaded_result =
      file.ok() ? load_archive(*file, name, schema_crc_, schema_.row_bytes(), cache_, unreadable_)
                : Result<LoadedArchive>(file.status());
  if (loaded_result.ok() && (loaded_result->segment->first() != segment * segment_rows_ ||
                             loaded_result->segment->capacity() != segment_rows_))
    loaded_result = Status(Code::kCorrupt, name + " belongs to another position");
  if (!loaded_result.ok()) {
    report->problems.push_back(loaded_result.status());
    return false;
  }
  set_indexes(&*loaded_result, loader.indexes());
  log->load(std::move(loaded_result->segment), segment * segment_rows_, segment_rows_);
  writers_[log->number()].archives.emplace_back(segment, (*file)->data().size());
  archived_bytes_ += (*file)->data().size();
  ++report->segments;
  return true;
}

uint64_t Storage::load_journal(WriterLog* log, uint64_t segment, uint64_t position, const Loader* loader,
                               RecoveryReport* report) {
  const std::string name = name_of(log->number(), segment, "wal");
  const auto file = files_->map(path(name));
  if (!file.ok()) return report->problems.push_back(file.status()), 0;
  const auto data = (*file)->data();
  const uint64_t begin = position;
  for (size_t offset = 0; offset + sizeof(Frame) <= data.size();) {
    Frame frame;
    std::memcpy(&frame, data.data() + offset, sizeof frame);
    const size_t bytes = size_t{frame.rows} * frame.row_bytes;
    const bool sound = frame.magic == kFrameMagic && frame.row_bytes == schema_.row_bytes() &&
                       frame.rows <= kFrameRows && frame.first == position &&
                       bytes <= data.size() - offset - sizeof frame &&
                       crc_of(frame, data.data() + offset + sizeof frame) == frame.crc;
    // A crash may leave an incomplete frame at the end. Data from there on were never guaranteed to be durable.
    if (!sound) {
      if (position == begin || data.size() - offset >= sizeof frame + bytes)
        report->problems.push_back({Code::kCorrupt, name + " is damaged at byte " + std::to_string(offset)});
      break;
    }
    const uint8_t* rows = data.data() + offset + sizeof frame;
    if (Status status = loader == nullptr ? Status() : loader->append(log, rows, frame.rows); !status.ok()) {
      report->problems.push_back(status);
      break;
    }
    position += frame.rows;
    offset += sizeof frame + bytes;
  }
  return position - begin;
}

}  // namespace tapline::multilog
