#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/api/flow_hash.h"
#include "parsers/decode/fragment_table.h"
#include "parsers/engine/engine.h"
#include "parsers/testing/frames.h"

namespace tapline::testing {

inline constexpr HashKey kTestKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

// A tuple, with the parser's values as text, by field name.
struct Tuple {
  uint32_t parser = 0;
  TupleHeader header;
  std::map<std::string, std::string> values;
  bool is_event = false;

  const std::string& operator[](const std::string& field) const { return values.at(field); }
  // Returns the endpoints in the form "10.0.0.1:40000>10.0.0.2:80".
  std::string endpoints() const;
};

// Collects all tuples and losses. Fails the test if a tuple breaks the contract: time runs backwards, values don't
// match the schema, or no query receives the tuple.
class Collector final : public TupleSink {
 public:
  void emit(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void event(uint32_t parser, const TupleHeader& header, std::span<const Value> values) override;
  void lose(LossReason reason, uint64_t count, uint64_t queries) override;

  void watch(const Engine* engine) { engine_ = engine; }
  // Returns one line per tuple: the values of the named fields, joined by spaces.
  std::vector<std::string> lines(const std::vector<std::string>& fields) const;

  std::vector<Tuple> tuples;
  std::map<LossReason, uint64_t> losses;

 private:
  const Engine* engine_ = nullptr;
  std::array<int64_t, 64> last_ns_ = {};  // by query
};

// An engine with parsers given by name or as objects, and its output.
class Harness {
 public:
  explicit Harness(const std::vector<std::string>& parsers, const EngineOptions& options = small());
  explicit Harness(std::vector<std::unique_ptr<Parser>> parsers, const EngineOptions& options = small());

  // Returns options with bounds that suit tests: few connections, little memory.
  static EngineOptions small();

  // Decodes all frames, reassembles fragments, and feeds the packets, each selected by `queries`, in bursts of about
  // `burst`. Returns the number of packets.
  size_t feed(const std::vector<Frame>& frames, uint64_t queries = 1, size_t burst = 32,
              ToSide to_side = ToSide::kUnknown);
  // Calls feed() and end().
  Harness& all(const std::vector<Frame>& frames);

  Engine& engine() { return engine_; }
  const std::vector<Tuple>& tuples() const { return collector_.tuples; }
  std::vector<std::string> lines(const std::vector<std::string>& fields) const { return collector_.lines(fields); }
  uint64_t lost(LossReason reason) const;

 private:
  DecodeOutcome reassembled(const FlowHasher& hasher, Packet* packet);

  Collector collector_;
  Engine engine_;
  std::unique_ptr<FragmentTable> fragments_;  // made with the first fragment
};

std::vector<std::unique_ptr<Parser>> make_parsers(const std::vector<std::string>& names);

}  // namespace tapline::testing
