#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

struct nghttp2_hd_inflater;

namespace tapline::http2 {

// Receives a block's headers. Views are valid during the call.
class HeaderSink {
 public:
  virtual ~HeaderSink() = default;
  virtual void on_header(std::string_view name, std::string_view value) = 0;
  // Called for a header that refers to a table entry that was never seen, and for the rest of a malformed block.
  virtual void on_unknown() = 0;
};

// Reads the header blocks of one direction (HPACK, RFC 7541) with libnghttp2's inflater.
//
// Each block may refer to headers of earlier ones, by their distance from the latest table entry. If earlier blocks
// were not seen, the decoder's table has only the latest entries, at the distances that the encoder counts; any entry
// farther away is unknown and reported as such. A placeholder keeps the position of an entry whose name is unknown. The
// decoder's table never evicts entries that the encoder may still refer to, so no reference can resolve to an entry
// other than the encoder's.
class HeaderDecoder {
 public:
  // Larger tables (SETTINGS_HEADER_TABLE_SIZE) are not supported: their headers become unknown.
  static constexpr size_t kMaxTableBytes = 64 << 10;

  // Decodes a whole block, or its beginning. Returns false if it is malformed; the whole table is then unknown.
  bool decode(std::string_view block, HeaderSink& sink);
  // Discards the table. Call it if blocks may have been missed.
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

// The kind of a block, as shown by its references to the static table.
struct BlockKind {
  bool well_formed = false;
  bool asks = false;     // a request's :method, :scheme, :path or :authority
  bool answers = false;  // a :status
};
BlockKind classify(std::string_view block);

}  // namespace tapline::http2
