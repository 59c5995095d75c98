#include "parsers/http2_request/hpack.h"

#include <nghttp2/nghttp2.h>

#include <optional>

namespace tapline::http2 {
namespace {

// An inflater's memory in addition to its table's entries, measured with libnghttp2 1.52.
constexpr size_t kInflaterBytes = 8 << 10;
constexpr uint64_t kFirstStatus = 8, kLastStatus = 14;
// Replaces the name of a literal that is added to the table, if the name refers to an unknown entry.
constexpr std::string_view kPlaceholder = "\x40\x01?";

// One header, or a dynamic table size update (RFC 7541 section 6).
struct Representation {
  size_t bytes = 0;
  uint64_t index = 0;       // 0: the name is a literal, or this is a size update
  size_t value_offset = 0;  // start of a literal value; 0: there is none
  bool enters_table = false;
  bool is_size = false;
};

// Reads an integer with a prefix of this many bits (section 5.1); moves *position past it.
std::optional<uint64_t> integer(std::string_view block, size_t* position, int prefix_bits) {
  if (*position >= block.size()) return std::nullopt;
  const uint64_t prefix_max = (1u << prefix_bits) - 1;
  uint64_t value = static_cast<uint8_t>(block[(*position)++]) & prefix_max;
  if (value < prefix_max) return value;
  for (int shift = 0; shift < 28; shift += 7) {
    if (*position >= block.size()) return std::nullopt;
    const auto byte = static_cast<uint8_t>(block[(*position)++]);
    value += static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

bool step_over_string(std::string_view block, size_t* position) {
  const std::optional<uint64_t> length = integer(block, position, 7);
  if (!length || *length > block.size() - *position) return false;
  *position += *length;
  return true;
}

// Returns the representation at the beginning of the block, or nullopt if it is truncated or malformed.
std::optional<Representation> next(std::string_view block) {
  const auto first = static_cast<uint8_t>(block[0]);
  Representation result;
  size_t position = 0;
  const bool indexed = (first & 0x80) != 0;
  result.enters_table = (first & 0xc0) == 0x40;
  result.is_size = (first & 0xe0) == 0x20;
  const std::optional<uint64_t> value = integer(block, &position,
                                                indexed               ? 7
                                                : result.enters_table ? 6
                                                : result.is_size      ? 5
                                                                      : 4);
  if (!value || (indexed && *value == 0)) return std::nullopt;
  if (!result.is_size) result.index = *value;
  if (!indexed && !result.is_size) {
    if (result.index == 0 && !step_over_string(block, &position)) return std::nullopt;
    result.value_offset = position;
    if (!step_over_string(block, &position)) return std::nullopt;
  }
  result.bytes = position;
  return result;
}

}  // namespace

void HeaderDecoder::Free::operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }

size_t HeaderDecoder::memory_bytes() const {
  return inflater_ == nullptr ? 0 : kInflaterBytes + 4 * nghttp2_hd_inflate_get_dynamic_table_size(inflater_.get());
}

bool HeaderDecoder::start() {
  if (inflater_ != nullptr) return true;
  nghttp2_hd_inflater* inflater = nullptr;
  if (nghttp2_hd_inflate_new(&inflater) != 0) return false;
  inflater_.reset(inflater);
  // The encoder itself signals size changes of its table; the decoder ignores the limit that the other side sets.
  return nghttp2_hd_inflate_change_table_size(inflater, kMaxTableBytes) == 0;
}

bool HeaderDecoder::decode(std::string_view block, HeaderSink& sink) {
  bool fine = start();
  while (fine && !block.empty()) {
    const std::optional<Representation> field = next(block);
    fine = field.has_value();
    if (!fine) break;
    const std::string_view bytes = block.substr(0, field->bytes);
    block.remove_prefix(field->bytes);
    if (field->index <= nghttp2_hd_inflate_get_num_table_entries(inflater_.get())) {
      fine = feed(bytes, &sink);
      continue;
    }
    sink.on_unknown();
    if (field->enters_table) fine = feed(kPlaceholder, nullptr) && feed(bytes.substr(field->value_offset), nullptr);
  }
  nghttp2_nv header;
  int flags = 0;
  fine = fine && nghttp2_hd_inflate_hd2(inflater_.get(), &header, &flags, nullptr, 0, 1) == 0;
  if (!fine) {
    sink.on_unknown();
    forget();
    return false;
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return true;
}

bool HeaderDecoder::feed(std::string_view bytes, HeaderSink* sink) {
  const auto* input = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  for (;;) {
    nghttp2_nv header;
    int flags = 0;
    const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_.get(), &header, &flags, input, left, 0);
    if (taken < 0) return false;
    input += taken;
    left -= static_cast<size_t>(taken);
    const bool emits = (flags & NGHTTP2_HD_INFLATE_EMIT) != 0;
    if (emits && sink != nullptr) {
      const std::string_view name(reinterpret_cast<const char*>(header.name), header.namelen);
      const std::string_view value(reinterpret_cast<const char*>(header.value), header.valuelen);
      name == "?" ? sink->on_unknown() : sink->on_header(name, value);
    }
    if (left == 0 || (taken == 0 && !emits)) return left == 0;
  }
}

BlockKind classify(std::string_view block) {
  BlockKind look;
  while (!block.empty()) {
    const std::optional<Representation> field = next(block);
    if (!field) return {};
    look.asks = look.asks || (field->index >= 1 && field->index < kFirstStatus);
    look.answers = look.answers || (field->index >= kFirstStatus && field->index <= kLastStatus);
    block.remove_prefix(field->bytes);
  }
  look.well_formed = true;
  return look;
}

}  // namespace tapline::http2
