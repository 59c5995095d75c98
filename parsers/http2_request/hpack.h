#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

struct nghttp2_hd_inflater;

namespace tapline::http2 {

// Told of a block's headers. Views are valid during the call.
class HeaderSink {
 public:
  virtual ~HeaderSink() = default;
  virtual void on_header(std::string_view name, std::string_view value) = 0;
  // A header whose name or value is in a part of the table that was never seen.
  virtual void on_unknown() = 0;
};

// Reads header blocks of one direction (HPACK, RFC 7541) with libnghttp2's inflater.
//
// Each block may refer to headers of earlier ones, by their distance from the latest that was put into the table. Where
// earlier blocks were not seen, the table here holds the latest entries only, with the distances that the encoder
// counts; whatever is farther away is unknown and told as such. Entries without a known name keep their place by a
// placeholder. As the table here never drops entries of which the encoder may still speak in favour of others, no
// reference can mean another entry than the encoder's.
class HeaderDecoder {
 public:
  // An encoder that asks for a larger table (SETTINGS_HEADER_TABLE_SIZE) is not followed: its headers become unknown.
  static constexpr size_t kMaxTableBytes = 64 << 10;

  // A whole block, or its beginning. False: it is broken, and nothing is known of the table any more.
  bool decode(std::string_view block, HeaderSink& sink);
  // Blocks may have come that were not seen.
  void forget() { inflater_.reset(); }
  size_t memory_bytes() const;

 private:
  struct Free {
    void operator()(nghttp2_hd_inflater* inflater) const;
  };

  bool start();
  bool feed(std::string_view bytes, HeaderSink* sink);

  std::unique_ptr<nghttp2_hd_inflater, Free> inflater_;
};

// What a block's static references say, without a table.
struct BlockLook {
  bool well_formed = false;
  bool asks = false;     // a request's :method, :scheme, :path or :authority
  bool answers = false;  // a :status
};
BlockLook look_at(std::string_view block);

}  // namespace tapline::http2
