// Adds and removes indexes while writers write; existing segments are backfilled.
#include <algorithm>

#include "multilog/multilog_impl.h"

namespace tapline::multilog {

Status MultiLogImpl::add_index_locked(const std::string& name, bool backfill) {
  const size_t bracket = name.find('[');
  const Field* field = options_.schema.find(name.substr(0, bracket));
  if (field == nullptr) return {Code::kInvalid, "unknown field '" + name + "'"};
  const uint32_t element =
      bracket == std::string::npos ? 0 : static_cast<uint32_t>(std::strtoul(name.c_str() + bracket + 1, nullptr, 10));
  if (element >= field->spec.elements || (bracket == std::string::npos && field->spec.elements > 1))
    return {Code::kInvalid, "not a single element: '" + name + "'"};
  const Column column = field->element(element);
  for (const Index& present : indexes_) {
    if (present.column == column.part(0)) return {Code::kExists, "there is already an index on " + name};
  }
  if (indexes_.size() + column.parts() > kMaxIndexes)
    return {Code::kInvalid, "there can be at most 64 indexes; a field wider than 8 bytes needs one index per 8 bytes"};
  const size_t first = indexes_.size();
  for (uint32_t part = 0; part < column.parts(); ++part) add_part({0, name, part, column.part(part)});
  if (!backfill) return {};
  rebuild();
  for (size_t i = first; i < indexes_.size(); ++i) backfill_index(indexes_[i]);
  return {};
}

// Adds an index whose ID has a free slot: postings are stored by ID modulo kMaxIndexes, so two indexes must never use
// the same slot at the same time.
void MultiLogImpl::add_part(Index index) {
  auto taken = [&](uint64_t id) {
    return std::any_of(indexes_.begin(), indexes_.end(),
                       [&](const Index& existing) { return existing.id % kMaxIndexes == id % kMaxIndexes; });
  };
  do index.id = next_id_++;
  while (taken(index.id));
  indexes_.push_back(std::move(index));
}

Status MultiLogImpl::add_index(const std::string& field) {
  const std::lock_guard lock(control_);
  if (Status status = add_index_locked(field, true); !status.ok()) return status;
  return save_catalogue();
}

Status MultiLogImpl::remove_index(const std::string& field) {
  const std::lock_guard lock(control_);
  if (std::erase_if(indexes_, [&](const Index& index) { return index.field == field; }) == 0)
    return {Code::kNotFound, "no index on " + field};
  rebuild();
  return save_catalogue();
}

// Builds the index's postings for segments that are already full; writers do so for later segments.
void MultiLogImpl::backfill_index(const Index& index) {
  const Snapshot snapshot = take_snapshot();
  PostingsBuilder builder;
  for (const Snapshot::View& view : snapshot.views()) {
    const uint32_t size = view.log->segment_rows();
    for (uint64_t position = view.first; position + size <= view.tail; position += size) {
      Segment* segment = view.log->segment_at(position);
      if (segment == nullptr || segment->index_of(index.id) != nullptr) continue;
      std::shared_ptr<const uint8_t> keep;
      const uint8_t* rows = segment->rows();
      if (segment->source != nullptr) {
        keep = segment->source->rows(~uint64_t{0} >> (64 - segment->zones()));
        rows = keep.get();
      }
      if (rows == nullptr) continue;
      const Postings* postings = build_postings(options_.schema, index, rows, size, nullptr, &builder, segment);
      if (postings != nullptr) segment->set_index(postings);
    }
  }
}

std::vector<std::string> MultiLogImpl::indexes() const {
  const std::lock_guard lock(control_);
  std::vector<std::string> names;
  for (const Index& index : indexes_) {
    if (index.part == 0) names.push_back(index.field);
  }
  return names;
}

}  // namespace tapline::multilog
