// Tests that after any damage to a connection, a parser pairs correctly again after a bounded number of clean
// exchanges: no parser keeps wrong state forever. Each connection is simulated, and its first part is damaged at
// random.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "parsers/testing/dialogue.h"
#include "parsers/testing/harness.h"

namespace tapline::testing {
namespace {

// After kCleanExchanges exchanges without damage, all results must be correct. The reassembler waits up to 32 packets
// for a lost one, and a client that seemed not to wait is trusted after 32 turns. Clean exchanges are numbered after a
// jump of kOtherNumbers, so that damage can't produce their numbers.
constexpr int kOtherNumbers = 100'000;
constexpr int kCleanExchanges = 50, kJudgedExchanges = 10, kDamagedRounds = 60;
#ifdef __SANITIZE_ADDRESS__
constexpr uint32_t kSeeds = 20;
#else
constexpr uint32_t kSeeds = 150;
#endif

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}
std::string little_endian(uint64_t value, int bytes) {
  std::string text = big_endian(value, bytes);
  std::reverse(text.begin(), text.end());
  return text;
}
std::string name_of(int exchange) { return "k" + std::to_string(100'000 + exchange); }
// Returns the exchange's value. Values vary in length, so that the ends of responses differ.
std::string value_of(int exchange) { return std::string(1 + static_cast<size_t>(exchange * 37 % 90), 'v'); }

struct Protocol {
  std::string parser;
  uint16_t port;
  Dialogue hello;  // messages before the first exchange
  std::function<std::string(int exchange)> request, answer;
  std::string field;                               // the tuple's field that identifies the exchange
  std::function<std::string(int exchange)> named;  // the value of that field
  bool pipelines = true;
  std::string since = "first_byte_ns";
};
void PrintTo(const Protocol& protocol, std::ostream* out) { *out << protocol.parser; }

Protocol http() {
  return {.parser = "http_get",
          .port = 80,
          .request = [](int i) { return "GET /" + name_of(i) + " HTTP/1.1\r\nHost: h\r\n\r\n"; },
          .answer =
              [](int i) {
                const std::string body = value_of(i);
                return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
              },
          .field = "url",
          .named = [](int i) { return "/" + name_of(i); }};
}

Protocol http2() {
  const auto frame = [](uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
    return big_endian(payload.size(), 3) + big_endian(type, 1) + big_endian(flags, 1) + big_endian(stream, 4) + payload;
  };
  constexpr uint8_t kHeaders = 1, kSettings = 4, kEnds = 5;  // END_STREAM, END_HEADERS
  const auto stream_of = [](int i) { return static_cast<uint32_t>(2 * i + 1); };
  // Returns the headers of a GET (scheme http) whose path is not added to HPACK's table (RFC 7541 section 6.2.2).
  const auto headers = [](int i) { return "\x82\x86\x04" + big_endian(name_of(i).size() + 1, 1) + "/" + name_of(i); };
  return {.parser = "http2_request",
          .port = 8080,
          .hello = {{true, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, "")},
                    {false, frame(kSettings, 0, 0, "")}},
          .request = [=](int i) { return frame(kHeaders, kEnds, stream_of(i), headers(i)); },
          .answer = [=](int i) { return frame(kHeaders, kEnds, stream_of(i), "\x88"); },
          .field = "url",
          .named = [](int i) { return "/" + name_of(i); }};
}

Protocol kafka() {
  const auto message = [](const std::string& bytes) { return big_endian(bytes.size(), 4) + bytes; };
  constexpr uint16_t kHeartbeat = 12, kVersion = 3;
  return {
      .parser = "kafka_request",
      .port = 9092,
      .request =
          [=](int i) {
            return message(big_endian(kHeartbeat, 2) + big_endian(kVersion, 2) +
                           big_endian(static_cast<uint64_t>(i), 4) + big_endian(2, 2) + "me" + big_endian(5, 2) +
                           "group" + big_endian(1, 4) + big_endian(6, 2) + "member" + big_endian(0xffff, 2));
          },
      .answer =
          [=](int i) { return message(big_endian(static_cast<uint64_t>(i), 4) + big_endian(0, 4) + big_endian(0, 2)); },
      .field = "correlation_id",
      .named = [](int i) { return std::to_string(i); }};
}

Protocol memcached() {
  return {.parser = "memcached_get",
          .port = 11211,
          .request = [](int i) { return "get " + name_of(i) + "\r\n"; },
          .answer =
              [](int i) {
                const std::string value = value_of(i);
                return "VALUE " + name_of(i) + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\nEND\r\n";
              },
          .field = "key",
          .named = name_of};
}

Protocol mysql() {
  const auto packet = [](uint64_t sequence, const std::string& payload) {
    return little_endian(payload.size(), 3) + little_endian(sequence, 1) + payload;
  };
  const std::string ok("\0\0\0\2\0\0\0", 7);
  const std::string greeting = std::string("\x0a") + "8.0.1" + '\0' + little_endian(7, 4) + "scramble" + '\0' +
                               little_endian(0xa685, 2) + '\x21' + little_endian(2, 2) + little_endian(3, 2) +
                               std::string(11, '\0') + "morescramble" + '\0';
  const std::string login = little_endian(0x3a685 & ~0x800 & ~0x20, 4) + little_endian(1 << 24, 4) + '\x21' +
                            std::string(23, '\0') + "bob" + '\0' + little_endian(4, 1) + "hash" + "shop" + '\0';
  return {.parser = "mysql_query",
          .port = 3306,
          .hello = {{false, packet(0, greeting)}, {true, packet(1, login)}, {false, packet(2, ok)}},
          .request = [=](int i) { return packet(0, "\x03" + name_of(i)); },
          .answer = [=](int i) { return packet(1, ok + value_of(i)); },
          .field = "statement",
          .named = name_of,
          .pipelines = false};
}

Protocol postgres() {
  const auto message = [](char type, const std::string& payload) {
    return type + big_endian(payload.size() + 4, 4) + payload;
  };
  const auto text = [](const std::string& value) { return value + '\0'; };
  const std::string startup = big_endian(196608, 4) + text("user") + text("eve") + '\0';
  const std::string ready = message('Z', "I");
  return {
      .parser = "postgres_query",
      .port = 5432,
      .hello = {{true, big_endian(startup.size() + 4, 4) + startup}, {false, message('R', big_endian(0, 4)) + ready}},
      .request = [=](int i) { return message('Q', text(name_of(i))); },
      .answer =
          [=](int i) {
            const std::string value = value_of(i);
            return message('T', big_endian(1, 2) + text("id") + std::string(18, '\0')) +
                   message('D', big_endian(1, 2) + big_endian(value.size(), 4) + value) +
                   message('C', text("SELECT 1")) + ready;
          },
      .field = "statement",
      .named = name_of};
}

Protocol redis() {
  const auto bulk = [](const std::string& value) {
    return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  };
  return {.parser = "redis_command",
          .port = 6379,
          .request = [=](int i) { return "*2\r\n" + bulk("GET") + bulk(name_of(i)); },
          .answer = [=](int i) { return bulk(value_of(i)); },
          .field = "key",
          .named = name_of};
}

// One connection. Its first part has exchanges of all kinds and is damaged; in the rest, exchanges are sequential.
class Session {
 public:
  Session(const Protocol& protocol, uint32_t seed)
      : protocol_(protocol), random_(seed), conversation_({.server_port = protocol.port}) {}

  std::vector<Frame> frames() {
    conversation_.handshake();
    for (const Message& message : protocol_.hello) {
      message.from_client ? conversation_.client(message.bytes) : conversation_.server(message.bytes);
    }
    conversation_.client(protocol_.request(next_)).server(protocol_.answer(next_));
    ++next_;
    hello_end_ = conversation_.frames().size();
    for (int round = 0; round < kDamagedRounds; ++round) say();
    clean_frame_ = conversation_.frames().size();
    first_clean_ = next_ += kOtherNumbers;
    for (int i = 0; i < kCleanExchanges + kJudgedExchanges; ++i) {
      conversation_.client(protocol_.request(next_)).server(protocol_.answer(next_));
      ++next_;
    }
    conversation_.client_ack();
    return damaged(conversation_.frames());
  }

  int first_judged() const { return first_clean_ + kCleanExchanges; }
  int end() const { return next_; }

 private:
  bool happens(uint32_t percent) { return random_() % 100 < percent; }

  // Adds a single exchange, a pipelined batch (each side's messages in one segment or in several), or exchanges in
  // which the next request precedes the response.
  void say() {
    const int kind = protocol_.pipelines ? static_cast<int>(random_() % 4) : 0;
    const int count = kind == 0 ? 1 : 2 + static_cast<int>(random_() % 4);
    const int begin = next_, end = next_ += count;
    if (kind < 3) {
      speak(true, protocol_.request, begin, end);
      speak(false, protocol_.answer, begin, end);
    } else {
      conversation_.client(protocol_.request(begin));
      for (int i = begin; i < end; ++i) {
        if (i + 1 < end) conversation_.client(protocol_.request(i + 1));
        conversation_.server(protocol_.answer(i));
      }
    }
    if (happens(20)) conversation_.client_ack();
  }

  void speak(bool is_client, const std::function<std::string(int)>& words, int begin, int end) {
    const bool at_once = happens(50);
    std::string all;
    for (int i = begin; i < end; ++i) {
      all += words(i);
      if (at_once && i + 1 < end) continue;
      const size_t cut = happens(20) ? 20 : 1400;
      is_client ? conversation_.client_cut(all, cut) : conversation_.server_cut(all, cut);
      all.clear();
    }
  }

  std::vector<Frame> damaged(const std::vector<Frame>& frames) {
    const bool loses = happens(80), reorders = happens(80), repeats = happens(50), flips = happens(50);
    const size_t join = happens(50) ? random_() % clean_frame_ : 0;
    std::vector<std::pair<size_t, Frame>> order;
    for (size_t i = join; i < frames.size(); ++i) {
      const bool clean = i >= clean_frame_;
      if (!clean && loses && happens(5)) continue;
      const size_t late = !clean && reorders && happens(10) ? 1 + random_() % 20 : 0;
      order.emplace_back(clean ? i : std::min(i + late, clean_frame_ - 1), frames[i]);
      if (clean) continue;
      Frame& frame = order.back().second;
      constexpr size_t kHeaderBytes = 14 + 20 + 20;
      if (flips && i >= hello_end_ && happens(3) && frame.bytes.size() > kHeaderBytes) {
        frame.bytes[kHeaderBytes + random_() % (frame.bytes.size() - kHeaderBytes)] ^= static_cast<uint8_t>(random_());
      }
      if (repeats && happens(5)) order.emplace_back(std::min(i + random_() % 4, clean_frame_ - 1), frame);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Frame> result;
    for (auto& entry : order) result.push_back(std::move(entry.second));
    return result;
  }

  const Protocol& protocol_;
  std::mt19937 random_;
  Conversation conversation_;
  int next_ = 1;
  int first_clean_ = 0;
  size_t clean_frame_ = 0;
  size_t hello_end_ = 0;  // number of frames; the bytes that identify a protocol stay unchanged
};

class Recovery : public ::testing::TestWithParam<Protocol> {};

TEST_P(Recovery, PairsAgainAfterCleanExchanges) {
  const Protocol& protocol = GetParam();
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    Session talk(protocol, seed);
    Harness run({protocol.parser});
    run.all(talk.frames());
    int right = 0;
    for (const Tuple& tuple : run.tuples()) {
      for (int i = talk.first_judged(); i < talk.end(); ++i) {
        if (tuple[protocol.field] != protocol.named(i)) continue;
        EXPECT_EQ(tuple["partial"], "") << "seed " << seed << ", exchange " << i;
        // Each response follows its request after one step.
        EXPECT_EQ(tuple[protocol.since], std::to_string(Conversation::kStepNs)) << "seed " << seed;
        ++right;
      }
    }
    EXPECT_EQ(right, kJudgedExchanges) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Parsers, Recovery,
                         ::testing::Values(http(), http2(), kafka(), memcached(), mysql(), postgres(), redis()),
                         [](const auto& protocol) { return protocol.param.parser; });

}  // namespace
}  // namespace tapline::testing
