// Writes a capture to standard output again and again, as one long capture. Feeds a monitor for the duration of a
// measurement, as fast as the monitor reads.
//
// usage: pcap_loop FILE SECONDS    whole repetitions, until SECONDS have passed
//
// A packet's timestamp is the time at which it is written, as if it arrived then. Each repetition changes the second
// octets of IPv4 addresses, so that connections differ (header checksums become wrong, but are not checked). FILE must
// be a little-endian .pcap with Ethernet frames. At the end, prints the numbers of repetitions and packets as JSON on
// standard error.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr size_t kFileHeader = 24;
constexpr size_t kRecordHeader = 16;
constexpr size_t kIpv4Addresses = 14 + 12;
constexpr size_t kBurst = 256;
constexpr int64_t kSecondNs = 1'000'000'000;

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "pcap_loop: error: %s\n", message.c_str());
  std::exit(1);
}

uint32_t load(const std::vector<char>& bytes, size_t offset) {
  uint32_t value;
  std::memcpy(&value, &bytes[offset], sizeof value);
  return value;
}

// Returns the positions at which records begin.
std::vector<size_t> records(const std::vector<char>& capture) {
  std::vector<size_t> starts;
  size_t offset = kFileHeader;
  while (offset + kRecordHeader <= capture.size()) {
    size_t next = offset + kRecordHeader + load(capture, offset + 8);
    if (next > capture.size()) die("the capture is cut short");
    starts.push_back(offset);
    offset = next;
  }
  if (starts.empty()) die("no packet in the capture");
  return starts;
}

// Prepares the next repetition in place.
void change_addresses(std::vector<char>& capture, const std::vector<size_t>& starts) {
  for (size_t start : starts) {
    char* frame = &capture[start + kRecordHeader];
    bool is_ipv4 = load(capture, start + 8) >= kIpv4Addresses + 8 && frame[12] == 8 && frame[13] == 0;
    if (!is_ipv4) continue;
    frame[kIpv4Addresses + 1]++;
    frame[kIpv4Addresses + 5]++;
  }
}

bool write(const char* data, size_t size) {
  while (size > 0) {
    ssize_t bytes_written = ::write(STDOUT_FILENO, data, size);
    if (bytes_written <= 0) return false;
    data += bytes_written;
    size -= static_cast<size_t>(bytes_written);
  }
  return true;
}

// Writes all records in groups; the records of a group have the same time.
bool write_now(std::vector<char>& capture, const std::vector<size_t>& starts, int64_t fractions) {
  for (size_t first = 0; first < starts.size(); first += kBurst) {
    size_t last = std::min(first + kBurst, starts.size());
    int64_t now_ns = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    uint32_t time[] = {static_cast<uint32_t>(now_ns / kSecondNs),
                       static_cast<uint32_t>(now_ns % kSecondNs / (kSecondNs / fractions))};
    for (size_t i = first; i < last; i++) std::memcpy(&capture[starts[i]], time, sizeof time);
    size_t end = last == starts.size() ? capture.size() : starts[last];
    if (!write(&capture[starts[first]], end - starts[first])) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) die("usage: pcap_loop FILE SECONDS");
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<char> capture{std::istreambuf_iterator<char>(file), {}};
  if (capture.size() < kFileHeader) die(std::string("can't read ") + argv[1]);
  if (load(capture, 0) != 0xa1b2c3d4 && load(capture, 0) != 0xa1b23c4d) die("not a little-endian .pcap");
  std::vector<size_t> starts = records(capture);
  int64_t fractions = load(capture, 0) == 0xa1b23c4d ? kSecondNs : 1'000'000;
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  int repetitions = 0;
  if (!write(capture.data(), kFileHeader)) return 0;
  do {
    if (!write_now(capture, starts, fractions)) return 0;
    repetitions++;
    change_addresses(capture, starts);
  } while (std::chrono::steady_clock::now() < end);
  std::fprintf(stderr, "{\"repetitions\":%d,\"packets\":%zu}\n", repetitions, repetitions * starts.size());
}
