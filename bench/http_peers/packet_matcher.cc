// packet_matcher FILE.pcap: the simplest program that pairs HTTP requests with responses, as a baseline for
// bench/peers. It examines each IPv4 TCP packet in isolation: a payload that begins with "GET " is a request, and one
// that begins with "HTTP/1." is the response to its connection's latest request. It does not consider sequence numbers,
// pipelining, heads that span packets, or bodies that resemble heads. Prints each pair's URL and status.
#include <arpa/inet.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t kFileHeader = 24, kRecordHeader = 16, kEthernetHeader = 14;
constexpr uint32_t kLittleEndianMicroseconds = 0xa1b2c3d4;
constexpr uint8_t kTcp = 6;

uint16_t load16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]); }

struct Segment {
  uint64_t from = 0, to = 0;  // address and port of each end
  std::string_view payload;
};

// Returns false if the frame is not a complete TCP segment over IPv4.
bool decode(const uint8_t* frame, size_t bytes, Segment* segment) {
  if (bytes < kEthernetHeader + 40 || load16(frame + 12) != 0x0800 || frame[kEthernetHeader + 9] != kTcp) return false;
  const uint8_t* ip = frame + kEthernetHeader;
  const size_t ip_header = (ip[0] & 15u) * 4, ip_total = load16(ip + 2);
  const uint8_t* tcp = ip + ip_header;
  if (ip_total > bytes - kEthernetHeader || ip_header + 20 > ip_total) return false;
  const size_t headers = ip_header + (static_cast<unsigned>(tcp[12]) >> 4) * 4;
  if (headers > ip_total) return false;
  uint32_t source, destination;
  std::memcpy(&source, ip + 12, 4);
  std::memcpy(&destination, ip + 16, 4);
  *segment = {uint64_t{source} << 16 | load16(tcp),
              uint64_t{destination} << 16 | load16(tcp + 2),

              {reinterpret_cast<const char*>(ip) + headers, ip_total - headers}};
  return true;
}

class Matcher {
 public:
  void add(const Segment& segment) {
    if (segment.payload.starts_with("GET "))
      open_[connection(segment.from, segment.to)] = word(segment.payload.substr(4));
    else if (segment.payload.starts_with("HTTP/1.") && segment.payload.size() >= 12)
      answer(connection(segment.to, segment.from), segment.payload.substr(9, 3));
  }

 private:
  static std::string_view word(std::string_view text) { return text.substr(0, text.find(' ')); }

  static uint64_t connection(uint64_t client, uint64_t server) { return client * 0x9e3779b97f4a7c15 ^ server; }

  void answer(uint64_t connection, std::string_view status) {
    std::string& url = open_[connection];
    if (!url.empty()) std::printf("%s\t%.3s\n", url.c_str(), status.data());
    url.clear();
  }

  std::unordered_map<uint64_t, std::string>
      open_;  // the URL of each connection's last request; empty once it has a response
};

bool read(std::FILE* file, uint8_t* target, size_t bytes) { return std::fread(target, 1, bytes, file) == bytes; }

}  // namespace

int main(int count, char** values) {
  std::FILE* file = count == 2 ? std::fopen(values[1], "rb") : nullptr;
  std::vector<uint8_t> frame(1 << 18);
  uint32_t magic = 0;
  if (file != nullptr && read(file, frame.data(), kFileHeader)) std::memcpy(&magic, frame.data(), 4);
  if (magic != kLittleEndianMicroseconds) {
    std::fprintf(stderr, "usage: packet_matcher FILE.pcap (classic, little-endian, microseconds)\n");
    return 2;
  }
  Matcher matcher;
  uint8_t header[kRecordHeader];
  while (read(file, header, sizeof header)) {
    uint32_t captured;
    std::memcpy(&captured, header + 8, 4);
    if (captured > frame.size() || !read(file, frame.data(), captured)) break;
    Segment segment;
    if (decode(frame.data(), captured, &segment)) matcher.add(segment);
  }
  std::fclose(file);
}
