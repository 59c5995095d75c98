#include "parsers/http_get/degraded/transactions.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "parsers/api/flow_hash.h"
#include "parsers/testing/harness.h"

namespace tapline::http {
namespace {

constexpr uint16_t kServerPort = 80;

struct Stream {
  uint32_t start = 0;  // sequence number of the first byte
  bool started = false;
  std::string bytes;
  std::vector<HeadPiece> segments;  // in capture order
};
struct Conversation {
  std::string client;
  Stream stream[2];  // requests, responses
};

// Adds a segment. The first of overlapping copies is used; data after a hole can't be read.
void add_segment(Stream& stream, const Packet& packet, uint32_t frame) {
  if (!stream.started || packet.payload_bytes == 0) return;
  const uint64_t begin = packet.tcp_seq - stream.start;
  const uint64_t end = begin + packet.payload_captured_bytes;
  if (begin > stream.bytes.size()) return;
  stream.segments.push_back({frame, begin, end, packet.payload_offset});
  if (end > stream.bytes.size()) stream.bytes.append(packet.payload_text().substr(stream.bytes.size() - begin));
}

std::vector<std::unique_ptr<Conversation>> conversations_of(const std::vector<testing::Frame>& frames) {
  std::vector<std::unique_ptr<Conversation>> all;
  std::map<std::string, Conversation*> current;
  const FlowHasher hasher(testing::kTestKey);
  for (uint32_t i = 0; i < frames.size(); ++i) {
    Packet packet;
    if (decode(frames[i].raw(), hasher, &packet) != DecodeOutcome::kOk || !packet.is_tcp()) continue;
    const bool to_server = packet.dst_port == kServerPort;
    const std::string client = testing::to_string(to_server ? packet.src_ip : packet.dst_ip) + ":" +
                               std::to_string(to_server ? packet.src_port : packet.dst_port);
    const bool is_syn = packet.has_tcp_flag(tcp_flag::kSyn);
    Conversation*& conversation = current[client];
    if (is_syn && to_server && (conversation == nullptr || conversation->stream[0].start != packet.tcp_seq + 1)) {
      conversation = all.emplace_back(std::make_unique<Conversation>()).get();
      conversation->client = client;
    }
    if (conversation == nullptr) continue;
    Stream& stream = conversation->stream[to_server ? 0 : 1];
    if (is_syn) stream.start = packet.tcp_seq + 1;
    stream.started |= is_syn;
    add_segment(stream, packet, i);
  }
  return all;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

// One message's head, read line by line.
struct Head {
  std::string first_line;
  std::map<std::string, std::string> fields;
  size_t end = 0;  // 0 if the head is incomplete
};
Head read_head(std::string_view text, size_t begin) {
  Head head;
  for (size_t position = begin; position < text.size();) {
    const size_t line_end = text.find('\n', position);
    if (line_end == std::string_view::npos) return head;
    std::string_view line = text.substr(position, line_end - position);
    if (line.ends_with('\r')) line.remove_suffix(1);
    position = line_end + 1;
    if (line.empty()) {
      head.end = position;
      return head;
    }
    if (head.first_line.empty()) {
      head.first_line = line;
      continue;
    }
    const size_t colon = std::min(line.find(':'), line.size());
    const size_t value = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    head.fields.emplace(lower(line.substr(0, colon)), line.substr(value));
  }
  return head;
}

constexpr size_t kIncomplete = std::string_view::npos;

size_t end_of_chunked(std::string_view text, size_t position) {
  while (true) {
    const size_t line_end = text.find('\n', position);
    if (line_end == std::string_view::npos) return kIncomplete;
    const size_t bytes = std::strtoul(std::string(text.substr(position, line_end - position)).c_str(), nullptr, 16);
    position = line_end + 1;
    if (bytes == 0) {
      // Trailer fields end with an empty line.
      while (true) {
        const size_t end = text.find('\n', position);
        if (end == std::string_view::npos) return kIncomplete;
        const bool empty = end - position <= 1;
        position = end + 1;
        if (empty) return position;
      }
    }
    position += bytes + 2;
    if (position > text.size()) return kIncomplete;
  }
}

size_t end_of_body(const Head& head, std::string_view text, size_t without_framing) {
  if (head.fields.contains("transfer-encoding")) return end_of_chunked(text, head.end);
  const auto length = head.fields.find("content-length");
  const size_t end = length == head.fields.end() ? without_framing : head.end + std::stoul(length->second);
  return end <= text.size() ? end : kIncomplete;
}

constexpr uint64_t kMaxSegmentBytes = 1 << 16;

bool begins_before(const HeadPiece& a, const HeadPiece& b) { return a.begin < b.begin; }

// REQUIRES: the stream's segments are sorted.
std::vector<HeadPiece> pieces_of(const Stream& stream, uint64_t begin, uint64_t end) {
  std::vector<HeadPiece> pieces;
  const HeadPiece first = {0, begin - std::min(begin, kMaxSegmentBytes), 0, 0};
  auto it = std::lower_bound(stream.segments.begin(), stream.segments.end(), first, begins_before);
  for (; it != stream.segments.end() && it->begin < end; ++it) {
    const HeadPiece& segment = *it;
    if (segment.end <= begin) continue;
    const uint64_t piece_begin = std::max(segment.begin, begin);
    pieces.push_back({segment.frame, piece_begin, std::min(segment.end, end),
                      segment.payload_offset + static_cast<uint32_t>(piece_begin - segment.begin)});
  }
  return pieces;
}

Message message(const Stream& stream, size_t begin, size_t head_end, size_t end) {
  return {true, begin, head_end, end == kIncomplete ? stream.bytes.size() : end, {}};
}

bool is_versioned(std::string_view line) {
  const size_t blank = line.rfind(' ');
  return blank != std::string_view::npos && lower(line.substr(blank + 1)).starts_with("http/");
}

// Reads an HTTP/0.9 request, which consists of GET and a path.
bool read_simple_request(const Stream& stream, size_t begin, Transaction* transaction) {
  const std::string_view text(stream.bytes);
  const size_t line_end = text.find('\n', begin);
  if (line_end == std::string_view::npos || !text.substr(begin).starts_with("GET /")) return false;
  std::string_view line = text.substr(begin, line_end - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find(' ', 4) != std::string_view::npos) return false;
  transaction->method = "GET";
  transaction->url = line.substr(4);
  transaction->request = message(stream, begin, line_end + 1, line_end + 1);
  return true;
}

std::vector<Transaction> read_requests(const Conversation& conversation, bool* simple) {
  std::vector<Transaction> requests;
  const std::string_view text(conversation.stream[0].bytes);
  for (size_t position = 0; position < text.size();) {
    position = std::min(text.find_first_not_of("\r\n", position), text.size());
    Transaction transaction;
    transaction.client = conversation.client;
    const Head head = read_head(text, position);
    if (!is_versioned(head.first_line)) {
      *simple = requests.empty() && read_simple_request(conversation.stream[0], position, &transaction);
      if (*simple) requests.push_back(transaction);
      break;
    }
    if (head.end == 0) break;
    const size_t first_blank = head.first_line.find(' '), last_blank = head.first_line.rfind(' ');
    if (first_blank == last_blank) break;
    transaction.method = head.first_line.substr(0, first_blank);
    transaction.url = head.first_line.substr(first_blank + 1, last_blank - first_blank - 1);
    const auto host = head.fields.find("host");
    if (host != head.fields.end()) transaction.host = host->second;
    const size_t end = end_of_body(head, text, head.end);
    transaction.request = message(conversation.stream[0], position, head.end, end);
    requests.push_back(transaction);
    if (end == kIncomplete) break;
    position = end;
  }
  return requests;
}

void read_responses(const Conversation& conversation, bool simple, std::vector<Transaction>& transactions) {
  const Stream& stream = conversation.stream[1];
  const std::string_view text(stream.bytes);
  size_t answered = 0;
  for (size_t position = 0; position < text.size() && answered < transactions.size();) {
    Transaction& transaction = transactions[answered];
    if (simple && !text.starts_with("HTTP/")) {
      transaction.response = message(stream, 0, 1, text.size());
      return;
    }
    const Head head = read_head(text, position);
    if (head.end == 0 || !head.first_line.starts_with("HTTP/1.")) return;
    const uint64_t status = std::stoul(head.first_line.substr(9));
    if (status / 100 == 1 && status != 101) {
      position = head.end;
      continue;
    }
    const bool bodyless = transaction.method == "HEAD" || status == 204 || status == 304;
    const size_t end = bodyless ? head.end : end_of_body(head, text, text.size());
    transaction.status = status;
    transaction.response = message(stream, position, head.end, end);
    ++answered;
    if (end == kIncomplete || status == 101) return;
    position = end;
  }
}

}  // namespace

std::vector<Transaction> transactions_of(const std::vector<testing::Frame>& frames) {
  std::vector<Transaction> all;
  for (const auto& conversation : conversations_of(frames)) {
    bool simple = false;
    std::vector<Transaction> transactions = read_requests(*conversation, &simple);
    read_responses(*conversation, simple, transactions);
    for (Stream& stream : conversation->stream) {
      std::stable_sort(stream.segments.begin(), stream.segments.end(), begins_before);
    }
    for (Transaction& transaction : transactions) {
      transaction.request.pieces =
          pieces_of(conversation->stream[0], transaction.request.begin, transaction.request.head_end);
      if (!transaction.response.seen) continue;
      transaction.response.pieces =
          pieces_of(conversation->stream[1], transaction.response.begin, transaction.response.head_end);
    }
    all.insert(all.end(), transactions.begin(), transactions.end());
  }
  return all;
}

}  // namespace tapline::http
