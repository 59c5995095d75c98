// Runs packets through an engine into an output on the caller's thread (run to completion).
#pragma once

#include <cstdint>
#include <span>

#include "monitors/lane/packet_stage.h"
#include "monitors/lane/published.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "parsers/engine/engine.h"

namespace tapline {

// The state of a parsing thread that other threads may read.
struct UnitSnapshot {
  QueryAccounts accounts;
  EngineStats engine;
  std::vector<ParserStats> parsers;
  OutputStats output;
};

class ParserStage final : public PacketStage {
 public:
  // `queries` are the query slots, which the output also uses; `engine` writes to `output`. All arguments must outlive
  // the stage. If `may_wait` is true (capture files), ending a query may take as long as it needs.
  ParserStage(std::span<const QuerySpec> queries, Engine* engine, TupleOutput* output, const QueryAccounts* accounts,
              bool may_wait);

  void add_query(uint32_t query) override;
  Engine::AbsorbResult absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints,
                              int64_t end_ns) override {
    return engine_->absorb(burst, unconditional, endpoints, end_ns);
  }
  void process(std::span<Packet> packets) override { engine_->process(packets); }
  bool wants_all_views() const override { return engine_->wants_all_views(); }
  bool wants_fragments() const override { return engine_->wants_fragments(); }
  bool wants_losses() const override { return engine_->wants_losses(); }
  void lose(const LostPackets& lost) override { engine_->lose(lost); }
  void advance(int64_t now_ns) override { engine_->advance(now_ns); }
  void begin_end(uint64_t queries) override;
  bool continue_end() override;
  uint64_t done(uint64_t queries) const override;
  OutputStats backlog() const override { return output_->stats(); }
  void set_sampling_rate(uint32_t query, double rate) override {
    output_->set_sampling_rate(query, rate, engine_->now_ns());
  }
  void set_watched_since(uint32_t query, int64_t time_ns) override { output_->set_watched_since(query, time_ns); }
  void capture_over() override { output_->capture_over(); }
  bool has_work() const override { return engine_->has_work(); }
  void tick(int64_t monotonic_ns) override;
  Status finish() override;
  Status status() const override { return output_->status(); }

  // Any thread: returns the state as of at most a tenth of a second ago, or the final one.
  UnitSnapshot published() const { return published_.get(); }

 private:
  void publish();
  void choose_parsers();
  void set_arguments(uint32_t query);

  std::span<const QuerySpec> queries_;
  Engine* engine_;
  TupleOutput* output_;
  const QueryAccounts* accounts_;
  bool may_wait_;
  uint64_t active_ = 0;
  uint64_t ending_ = 0;
  int64_t ending_at_ns_ = 0;
  int64_t published_at_ns_ = 0;
  Published<UnitSnapshot> published_;
};

}  // namespace tapline
