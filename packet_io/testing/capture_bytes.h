// Builds capture files byte by byte, for tests.
#pragma once

#include <unistd.h>
#include <zstd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tapline {

using Bytes = std::vector<uint8_t>;

// Appends numbers in a given byte order.
class ByteWriter {
 public:
  explicit ByteWriter(std::endian order = std::endian::little) : order_(order) {}

  ByteWriter& u8(uint8_t value) { return number(value, 1); }
  ByteWriter& u16(uint16_t value) { return number(value, 2); }
  ByteWriter& u32(uint32_t value) { return number(value, 4); }
  ByteWriter& u64(uint64_t value) { return number(value, 8); }
  ByteWriter& raw(const Bytes& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  ByteWriter& pad() {
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);
    return *this;
  }
  const Bytes& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  std::endian order() const { return order_; }

 private:
  ByteWriter& number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      int shift = 8 * (order_ == std::endian::little ? i : size - 1 - i);
      bytes_.push_back(static_cast<uint8_t>(value >> shift));
    }
    return *this;
  }

  std::endian order_;
  Bytes bytes_;
};

constexpr uint32_t kPcapMicros = 0xa1b2c3d4;
constexpr uint32_t kPcapNanos = 0xa1b23c4d;
constexpr uint32_t kPcapKuznetzov = 0xa1b2cd34;

inline void pcap_header(ByteWriter& out, uint32_t magic = kPcapMicros, uint32_t link_type = 1, uint16_t minor = 4) {
  out.u32(magic).u16(2).u16(minor).u32(0).u32(0).u32(65535).u32(link_type);
}

inline void pcap_record(ByteWriter& out, uint32_t seconds, uint32_t fraction, const Bytes& data, uint32_t wire_bytes) {
  out.u32(seconds).u32(fraction).u32(static_cast<uint32_t>(data.size())).u32(wire_bytes).raw(data);
}

// Pads the body and wraps it in a pcapng block.
inline void pcapng_block(ByteWriter& out, uint32_t type, ByteWriter body) {
  body.pad();
  uint32_t length = static_cast<uint32_t>(body.size()) + 12;
  out.u32(type).u32(length).raw(body.bytes()).u32(length);
}

inline void pcapng_section(ByteWriter& out, uint16_t major = 1) {
  ByteWriter body(out.order());
  body.u32(0x1a2b3c4d).u16(major).u16(0).u64(~uint64_t{0});
  pcapng_block(out, 0x0a0d0d0a, body);
}

// `options` are the bytes of the block's options, without the end-of-options option.
inline void pcapng_interface(ByteWriter& out, uint16_t link_type, const Bytes& options = {}, uint32_t snaplen = 0) {
  ByteWriter body(out.order());
  body.u16(link_type).u16(0).u32(snaplen).raw(options);
  if (!options.empty()) body.u16(0).u16(0);
  pcapng_block(out, 1, body);
}

inline void pcapng_packet(ByteWriter& out, uint32_t interface_id, uint64_t ticks, const Bytes& data,
                          uint32_t wire_bytes) {
  ByteWriter body(out.order());
  body.u32(interface_id).u32(static_cast<uint32_t>(ticks >> 32)).u32(static_cast<uint32_t>(ticks));
  body.u32(static_cast<uint32_t>(data.size())).u32(wire_bytes).raw(data);
  pcapng_block(out, 6, body);
}

inline Bytes zstd(const Bytes& plain_bytes) {
  Bytes out(ZSTD_compressBound(plain_bytes.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), plain_bytes.data(), plain_bytes.size(), 3));
  return out;
}

// A temporary directory that is removed at the end of the test.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tapline-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string write(const std::string& name, const Bytes& bytes) const {
    std::string path = path_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string path(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace tapline
