#include "multilog/log/writer_log.h"

#include <algorithm>

#include "multilog/log/copy_rows.h"

namespace tapline::multilog {
namespace {

// Pieces of up to this number of rows are evaluated row by row, since setting up a chunk's columns and bits would take
// longer.
constexpr uint32_t kFewRows = 8;

}  // namespace

WriterLog::WriterLog(const Shared& shared, uint32_t number, uint64_t first)
    : shared_(shared), number_(number), tail_(first), first_(first), next_(first) {}

WriterLog::~WriterLog() {
  for (auto& directory : directories_) {
    Directory* block = directory.load(std::memory_order_relaxed);
    if (block == nullptr) continue;
    for (auto& segment : *block) {
      if (Segment* present = segment.load(std::memory_order_relaxed)) free_segment(present);
    }
    delete block;
  }
}

void WriterLog::free_segment(Segment* segment) {
  uint8_t* arena = segment->arena();
  delete segment;
  if (arena != nullptr) shared_.arenas->give(arena);
}

std::atomic<Segment*>* WriterLog::place_of(uint64_t number) const {
  Directory* block = directories_[number / kDirectoryBlock % directories_.size()].load(std::memory_order_acquire);
  return block == nullptr ? nullptr : &(*block)[number % kDirectoryBlock];
}

Segment* WriterLog::segment_at(uint64_t position) const {
  const std::atomic<Segment*>* place = place_of(position / shared_.segment_rows);
  Segment* segment = place == nullptr ? nullptr : place->load(std::memory_order_acquire);
  // The directory is a ring, so the slot may belong to a much later segment.
  return segment != nullptr && position >= segment->first() && position < segment->first() + segment->capacity()
             ? segment
             : nullptr;
}

const Segment* WriterLog::peek_at(uint64_t position) const {
  const std::atomic<Segment*>* place = place_of(position / shared_.segment_rows);
  return place == nullptr ? nullptr : place->load(std::memory_order_acquire);
}

void WriterLog::put(uint64_t number, Segment* segment) {
  std::atomic<Directory*>& block = directories_[number / kDirectoryBlock % directories_.size()];
  if (block.load(std::memory_order_relaxed) == nullptr) block.store(new Directory{}, std::memory_order_release);
  place_of(number)->store(segment, std::memory_order_release);
}

void WriterLog::remove_before(uint64_t position) {
  const uint64_t begin = first();
  first_.store(position, std::memory_order_seq_cst);
  for (uint64_t row = begin; row < position; row = (row / shared_.segment_rows + 1) * shared_.segment_rows) {
    std::atomic<Segment*>* place = place_of(row / shared_.segment_rows);
    Segment* segment = place == nullptr ? nullptr : place->load(std::memory_order_relaxed);
    if (segment == nullptr) continue;
    // Earlier readers can still find the segment, so it leaves the directory only once they have finished.
    shared_.epochs->retire([this, place, segment] {
      Segment* expected = segment;
      place->compare_exchange_strong(expected, nullptr, std::memory_order_release);
      free_segment(segment);
    });
  }
}

void WriterLog::replace(uint64_t position, std::unique_ptr<Segment> replacement) {
  std::atomic<Segment*>* place = place_of(position / shared_.segment_rows);
  Segment* old_segment = place->exchange(replacement.release(), std::memory_order_seq_cst);
  if (old_segment != nullptr) shared_.epochs->retire([this, old_segment] { free_segment(old_segment); });
}

void WriterLog::load(std::unique_ptr<Segment> segment, uint64_t first, uint32_t rows) {
  if (segment) {
    newest_time_.store(std::max(newest_time(), segment->max_time()), std::memory_order_relaxed);
    put(first / shared_.segment_rows, segment.release());
  }
  next_ = first + rows;
  tail_.store(next_, std::memory_order_release);
}

bool WriterLog::open_segment() {
  uint8_t* arena = shared_.arenas->take();
  shared_.storage->ring();
  if (arena == nullptr) return false;
  // A writer that resumes in the middle of a segment's range (after recovery) begins at its position in that segment.
  const uint64_t first = next_ / shared_.segment_rows * shared_.segment_rows;
  auto* segment = new Segment(first, shared_.segment_rows, shared_.schema->row_bytes(), arena,
                              shared_.arenas->arena_bytes(), shared_.heap_bytes);
  segment_ = segment;
  offset_ = static_cast<uint32_t>(next_ - first);
  opened_ = 0;
  for (KeyBuffer& keys : keys_) keys.count = 0;
  put(first / shared_.segment_rows, segment);
  return true;
}

AppendResult WriterLog::append(const uint8_t* rows, uint64_t count) {
  const Epochs::Pin pin = shared_.epochs->enter();
  AppendResult result;
  while (result.accepted < count) {
    if (segment_ == nullptr && !open_segment()) {
      result.dropped = count - result.accepted;
      dropped_.fetch_add(result.dropped, std::memory_order_relaxed);
      return result;
    }
    const auto piece = static_cast<uint32_t>(
        std::min<uint64_t>({count - result.accepted, kChunkRows, shared_.segment_rows - offset_}));
    const Pipeline& pipeline = *shared_.pipeline->load(std::memory_order_acquire);
    append_piece(pipeline, rows + result.accepted * shared_.schema->row_bytes(), piece);
    result.accepted += piece;
    seal_step();
    if (offset_ == shared_.segment_rows) begin_seal(pipeline);
  }
  return result;
}

void WriterLog::append_piece(const Pipeline& pipeline, const uint8_t* rows, uint32_t count) {
  const uint32_t row_bytes = shared_.schema->row_bytes();
  copy_rows(segment_->rows() + size_t{offset_} * row_bytes, rows, size_t{count} * row_bytes);
  scratch_.begin(pipeline.program, rows, row_bytes, count);
  const auto* times = static_cast<const uint64_t*>(pipeline.program.keys_of(pipeline.time_column, &scratch_));
  uint64_t earliest = times[0], latest = times[0];
  for (uint32_t i = 1; i < count; ++i) {
    earliest = std::min(earliest, times[i]);
    latest = std::max(latest, times[i]);
  }
  segment_->widen_zones(offset_, count, earliest, latest);
  if (!pipeline.indexes.empty()) keep_keys(pipeline, count);
  if (opened_ != pipeline.serial) open_stages(pipeline);
  if (count <= kFewRows && !pipeline.has_dependent)
    run_filters_by_row(pipeline, next_ + count);
  else
    run_filters(pipeline, next_ + count, earliest, latest);
  offset_ += count;
  next_ += count;
  if (latest > newest_time_.load(std::memory_order_relaxed)) newest_time_.store(latest, std::memory_order_release);
  tail_.store(next_, std::memory_order_release);
}

void WriterLog::keep_keys(const Pipeline& pipeline, uint32_t count) {
  keys_.resize(pipeline.indexes.size());
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Pipeline::IndexStage& stage = pipeline.indexes[i];
    KeyBuffer& buffer = keys_[i];
    if (buffer.index != stage.index.id) {
      buffer.index = stage.index.id;
      buffer.count = 0;
    }
    // Keys are kept only if they cover all of the segment's rows so far.
    if (buffer.count != offset_) continue;
    const size_t key_bytes = stage.index.column.key_bytes(), wanted = shared_.segment_rows * key_bytes;
    if (buffer.keys.size() != wanted) buffer.keys.resize(wanted);
    std::memcpy(buffer.keys.data() + offset_ * key_bytes, pipeline.program.keys_of(stage.column, &scratch_),
                count * key_bytes);
    buffer.count += count;
  }
}

// Opens the filters' postings, once per segment and pipeline. Starting with the next row, each filter and aggregate
// covers all rows of this writer.
void WriterLog::open_stages(const Pipeline& pipeline) {
  auto begin = [this](std::atomic<uint64_t>& covered_from) {
    if (covered_from.load(std::memory_order_relaxed) == kNotYet) covered_from.store(next_, std::memory_order_release);
  };
  for (const Pipeline::Stage& stage : pipeline.stages) {
    begin(stage.filter->covered_from[number_]);
    // If there is no memory for postings, readers scan the rows.
    if (!stage.filter->everything) (void)segment_->open_postings(stage.filter->id, offset_);
    for (const auto& aggregate : stage.aggregates)
      begin(aggregate->per_writer[number_].load(std::memory_order_acquire)->covered_from);
  }
  opened_ = pipeline.serial;
}

void WriterLog::run_filters(const Pipeline& pipeline, uint64_t version, uint64_t earliest, uint64_t latest) {
  if (pipeline.has_dependent) run_dependent(pipeline);
  const bool by_key = pipeline.sets.pays(scratch_.count());
  if (by_key) find_sets(pipeline);
  const uint8_t* rows[kChunkRows];
  ChunkBits selected;
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const Pipeline::Stage& stage = pipeline.stages[i];
    if (by_key && stage.is_set) {
      if (found_in_[i] != search_) continue;
      selected = set_bits_[i];
    } else if (stage.dependent) {
      selected = dependent_bits_[i];
    } else {
      pipeline.program.select(stage.number, &scratch_, &selected);
    }
    if (!any_bit(selected)) continue;
    if (!stage.filter->everything) keep_postings(stage, selected);
    if (stage.aggregates.empty()) continue;
    uint32_t count = 0;
    for_each_bit(selected, [&](uint32_t row) { rows[count++] = scratch_.row(row); });
    for (const auto& aggregate : stage.aggregates) {
      Aggregate::PerWriter& own_writer = *aggregate->per_writer[number_].load(std::memory_order_acquire);
      own_writer.buckets->fold({rows, count}, earliest, latest, shared_.schema->time().offset, version);
    }
  }
}

// Marks the stage as reached by this search. Returns true the first time.
bool WriterLog::is_new(uint32_t stage) {
  if (found_in_[stage] == search_) return false;
  found_in_[stage] = search_;
  return true;
}

void WriterLog::find_sets(const Pipeline& pipeline) {
  set_bits_.resize(pipeline.stages.size());
  found_in_.resize(pipeline.stages.size());
  ++search_;
  pipeline.sets.for_each_candidate_in(scratch_.row(0), shared_.schema->row_bytes(), scratch_.count(),
                                      [this](uint32_t row, uint32_t stage) {
                                        if (is_new(stage)) set_bits_[stage].fill(0);
                                        set_bits_[stage][row / 64] |= uint64_t{1} << row % 64;
                                      });
}

void WriterLog::run_filters_by_row(const Pipeline& pipeline, uint64_t version) {
  const Schema& schema = *shared_.schema;
  found_in_.resize(pipeline.stages.size());
  for (uint32_t i = 0; i < scratch_.count(); ++i) {
    const uint8_t* row = scratch_.row(i);
    ++search_;
    pipeline.dispatch.for_each_candidate(row, [&](uint32_t number) {
      if (!is_new(number)) return;
      const Pipeline::Stage& stage = pipeline.stages[number];
      if (!stage.filter->everything) {
        if (!stage.filter->expression.matches(row, schema)) return;
        const uint32_t offset = offset_ + i;
        keep_offsets(stage, &offset, 1);
      }
      for (const auto& aggregate : stage.aggregates) {
        Aggregate::PerWriter& own_writer = *aggregate->per_writer[number_].load(std::memory_order_acquire);
        const uint64_t time = time_of(schema, row);
        own_writer.buckets->fold({&row, 1}, time, time, schema.time().offset, version);
      }
    });
  }
}

void WriterLog::keep_postings(const Pipeline::Stage& stage, const ChunkBits& selected) {
  uint32_t offsets[kChunkRows];
  uint32_t count = 0;
  for_each_bit(selected, [&](uint32_t row) { offsets[count++] = offset_ + row; });
  keep_offsets(stage, offsets, count);
}

void WriterLog::keep_offsets(const Pipeline::Stage& stage, const uint32_t* offsets, uint32_t count) {
  FilterPostings* postings = segment_->open_postings(stage.filter->id, offset_);
  if (postings == nullptr || segment_->append_postings(postings, offsets, count)) return;
  // The postings are now incomplete, so they are abandoned, and readers scan this segment.
  stage.filter->lost_postings.fetch_add(count, std::memory_order_relaxed);
  postings->covered_from.store(kMaxSegmentRows, std::memory_order_release);
}

// Processes a piece row by row: filters see the aggregates' values before the row, then the aggregates fold the row.
void WriterLog::run_dependent(const Pipeline& pipeline) {
  dependent_bits_.resize(pipeline.stages.size());
  for (size_t i = 0; i < pipeline.stages.size(); ++i) {
    const Pipeline::Stage& stage = pipeline.stages[i];
    if (stage.dependent || !stage.live.empty()) pipeline.program.select(stage.number, &scratch_, &dependent_bits_[i]);
  }
  const uint8_t* bytes = nullptr;
  const Expression::Values values = [&](const AggregateRef& reference) { return value_of(pipeline, reference, bytes); };
  for (uint32_t row = 0; row < scratch_.count(); ++row) {
    const uint64_t bit = uint64_t{1} << row % 64;
    bytes = scratch_.row(row);
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const Pipeline::Stage& stage = pipeline.stages[i];
      if (stage.dependent && (dependent_bits_[i][row / 64] & bit) &&
          !stage.filter->expression.matches(bytes, *shared_.schema, values))
        dependent_bits_[i][row / 64] &= ~bit;
    }
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      const Pipeline::Stage& stage = pipeline.stages[i];
      if (stage.live.empty() || !(dependent_bits_[i][row / 64] & bit)) continue;
      for (const auto& aggregate : stage.live) fold_running(*aggregate, bytes);
    }
  }
}

// Returns the state over all time, which is initialised from the buckets when a filter first needs it.
static std::vector<uint64_t>& running_of(const Aggregate& aggregate, Aggregate::PerWriter* own_writer) {
  if (!own_writer->has_running) {
    own_writer->running.assign(aggregate.function->words(), 0);
    Buckets::Copy copy;
    for (uint32_t slot = 0; slot <= own_writer->buckets->slots(); ++slot) {
      if (own_writer->buckets->read(slot, &copy) && copy.used)
        aggregate.function->merge(Cells(own_writer->running.data()), Cells(copy.state.data()));
    }
    own_writer->has_running = true;
  }
  return own_writer->running;
}

Number WriterLog::value_of(const Pipeline& pipeline, const AggregateRef& reference, const uint8_t* row) {
  const Aggregate* aggregate =
      reference.aggregate < pipeline.references.size() ? pipeline.references[reference.aggregate].get() : nullptr;
  if (aggregate == nullptr) return {};
  Aggregate::PerWriter* own_writer = aggregate->per_writer[number_].load(std::memory_order_acquire);
  const Cells state(running_of(*aggregate, own_writer).data());
  const std::vector<Number> outputs =
      aggregate->grouped != nullptr ? aggregate->grouped->outputs_for(state, row) : aggregate->function->outputs(state);
  return reference.output < outputs.size() ? outputs[reference.output] : Number();
}

void WriterLog::fold_running(const Aggregate& aggregate, const uint8_t* row) {
  Aggregate::PerWriter* own_writer = aggregate.per_writer[number_].load(std::memory_order_acquire);
  aggregate.function->add(Cells(running_of(aggregate, own_writer).data()), RowPointers(&row, 1));
}

void WriterLog::begin_seal(const Pipeline& pipeline) {
  finish_seal();
  seal_.segment = segment_;
  seal_.next = 0;
  seal_.indexes.clear();
  for (const Pipeline::IndexStage& stage : pipeline.indexes) seal_.indexes.push_back(stage.index);
  seal_.keys.swap(keys_);
  keys_.swap(spare_keys_);
  for (KeyBuffer& buffer : keys_) buffer.count = 0;
  segment_ = nullptr;
  if (seal_.indexes.empty()) seal_step();
}

// Builds one index per piece, so that no piece waits for all of them.
void WriterLog::seal_step() {
  if (seal_.segment == nullptr) return;
  if (seal_.next < seal_.indexes.size()) {
    const Index& index = seal_.indexes[seal_.next++];
    const KeyBuffer* keys = nullptr;
    for (const KeyBuffer& buffer : seal_.keys) {
      if (buffer.index == index.id && buffer.count == shared_.segment_rows) keys = &buffer;
    }
    build_index(index, keys, seal_.segment);
  }
  if (seal_.next < seal_.indexes.size()) return;
  seal_.segment->complete.store(true, std::memory_order_release);
  seal_.segment = nullptr;
  spare_keys_.swap(seal_.keys);
}

void WriterLog::finish_seal() {
  while (seal_.segment != nullptr) seal_step();
}

void WriterLog::build_index(const Index& index, const KeyBuffer* keys, Segment* segment) {
  const Postings* postings = build_postings(*shared_.schema, index, segment->rows(), segment->capacity(),
                                            keys != nullptr ? keys->keys.data() : nullptr, &builder_, segment);
  if (postings != nullptr) segment->set_index(postings);
}

const Postings* build_postings(const Schema& schema, const Index& index, const uint8_t* rows, uint32_t count,
                               const void* keys, PostingsBuilder* builder, Segment* segment) {
  std::vector<uint8_t> extracted;
  if (keys == nullptr) {
    extracted.resize(size_t{count} * index.column.key_bytes());
    extract_keys(index.column, rows, schema.row_bytes(), count, extracted.data());
    keys = extracted.data();
  }
  std::vector<bool> present;
  if (index.column.presence_bit >= 0) {
    present.resize(count);
    for (uint32_t i = 0; i < count; ++i)
      present[i] = is_present(index.column, rows + size_t{i} * schema.row_bytes(), schema.presence_offset());
  }
  Postings* postings = builder->build(keys, index.column.key_bytes(), count, present.empty() ? nullptr : &present,
                                      [segment](size_t bytes) { return segment->allocate(bytes); });
  if (postings != nullptr) postings->index = index.id;
  return postings;
}

}  // namespace tapline::multilog
