#include "monitors/events/event_ring.h"

#include <bit>
#include <cstring>
#include <stdexcept>

#include "packet_io/base/clock.h"

namespace tapline {
namespace {

constexpr size_t kAlignment = 8;
// Marks the first word of the skipped part at the end of the ring. The other bits are the length of that part.
constexpr uint64_t kFiller = uint64_t{1} << 63;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// A record's header, followed by its values, then by the bytes of their strings.
struct EventRing::Record {
  uint64_t bytes;  // size of the record including its values and strings, aligned
  uint32_t query;
  uint16_t parser;
  uint16_t values;
  int64_t made_ns;
  TupleHeader header;
};

namespace {

// A stored value. A string is stored as its length; its bytes follow the values.
struct StoredValue {
  uint8_t type;
  uint8_t present;
  uint32_t text_bytes;
  uint64_t bits;
};

StoredValue store(const Value& value) {
  StoredValue stored_value = {static_cast<uint8_t>(value.type()), value.present(), 0, 0};
  if (!value.present()) return stored_value;
  if (value.type() == FieldType::kString) {
    stored_value.text_bytes = static_cast<uint32_t>(value.as_string().size());
  } else {
    stored_value.bits = value.type() == FieldType::kF64 ? std::bit_cast<uint64_t>(value.as_f64()) : value.as_u64();
  }
  return stored_value;
}

Value load(const StoredValue& stored_value, const char* text) {
  const auto type = static_cast<FieldType>(stored_value.type);
  if (!stored_value.present) return Value::absent(type);
  switch (type) {
    case FieldType::kI64:
      return Value::i64(static_cast<int64_t>(stored_value.bits));
    case FieldType::kF64:
      return Value::f64(std::bit_cast<double>(stored_value.bits));
    case FieldType::kBool:
      return Value::boolean(stored_value.bits != 0);
    case FieldType::kString:
      return Value::string({text, stored_value.text_bytes});
    default:
      return Value::u64(stored_value.bits);
  }
}

}  // namespace

EventRing::EventRing(size_t bytes, EventBell* bell)
    : bytes_(bytes), memory_(std::make_unique<uint8_t[]>(bytes)), bell_(bell) {
  if (!std::has_single_bit(bytes) || bytes < 8 * sizeof(Record))
    throw std::invalid_argument("an event ring's size must be a power of two and at least 8 records");
}

// Returns room for one record, or null if there is none or the record is too long.
uint8_t* EventRing::reserve(size_t bytes) {
  if (bytes > bytes_ / 8) return nullptr;
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  const size_t to_end = bytes_ - (tail & (bytes_ - 1));
  const size_t skipped = bytes <= to_end ? 0 : to_end;
  const uint64_t end = tail + skipped + bytes;
  if (end - head_seen_ > bytes_) head_seen_ = head_.load(std::memory_order_acquire);
  if (end - head_seen_ > bytes_) return nullptr;
  if (skipped != 0) {
    const uint64_t filler = kFiller | skipped;
    std::memcpy(&memory_[tail & (bytes_ - 1)], &filler, sizeof filler);
  }
  return &memory_[(tail + skipped) & (bytes_ - 1)];
}

void EventRing::push(uint32_t query, uint32_t parser, const TupleHeader& header, std::span<const Value> values) {
  size_t text_bytes = 0;
  for (const Value& value : values) text_bytes += store(value).text_bytes;
  const size_t bytes = aligned(sizeof(Record) + values.size() * sizeof(StoredValue) + text_bytes);
  uint8_t* const target = values.size() <= kMaxValues ? reserve(bytes) : nullptr;
  if (target == nullptr) {
    lost_[query].fetch_add(1, std::memory_order_release);
    return bell_->ring();
  }
  const Record record = {bytes,     query, static_cast<uint16_t>(parser), static_cast<uint16_t>(values.size()),
                         wall_ns(), header};
  std::memcpy(target, &record, sizeof record);
  uint8_t* stored = target + sizeof record;
  uint8_t* text = stored + values.size() * sizeof(StoredValue);
  for (const Value& value : values) {
    const StoredValue stored_value = store(value);
    std::memcpy(stored, &stored_value, sizeof stored_value);
    stored += sizeof stored_value;
    if (stored_value.text_bytes == 0) continue;
    std::memcpy(text, value.as_string().data(), stored_value.text_bytes);
    text += stored_value.text_bytes;
  }
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  const size_t begin = static_cast<size_t>(target - memory_.get());
  const size_t skipped = (begin - (tail & (bytes_ - 1))) & (bytes_ - 1);
  tail_.store(tail + skipped + bytes, std::memory_order_release);
  bell_->ring();
}

bool EventRing::front(RingEvent* event) {
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  uint64_t head = head_.load(std::memory_order_relaxed);
  if (head == tail) return false;
  uint64_t word;
  std::memcpy(&word, &memory_[head & (bytes_ - 1)], sizeof word);
  if ((word & kFiller) != 0) {
    // A record follows the filler, since both are published together.
    head += word & ~kFiller;
    head_.store(head, std::memory_order_release);
  }
  const uint8_t* bytes = &memory_[head & (bytes_ - 1)];
  Record record;
  std::memcpy(&record, bytes, sizeof record);
  const uint8_t* stored = bytes + sizeof record;
  const char* text = reinterpret_cast<const char*>(stored + record.values * sizeof(StoredValue));
  for (uint16_t i = 0; i < record.values; ++i) {
    StoredValue stored_value;
    std::memcpy(&stored_value, stored + i * sizeof stored_value, sizeof stored_value);
    values_[i] = load(stored_value, text);
    text += stored_value.text_bytes;
  }
  *event = {record.query, record.parser, record.made_ns, record.header, {values_.data(), record.values}};
  front_bytes_ = record.bytes;
  return true;
}

void EventRing::pop() { head_.store(head_.load(std::memory_order_relaxed) + front_bytes_, std::memory_order_release); }

}  // namespace tapline
