// Runs packets through an engine into an output on the caller's thread: run to completion.
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
  // `queries` are the query slots, the same as the output's; `engine` writes to `output`. All arguments outlive the
  // stage. If `may_wait`, an end may take as long as it needs (capture files).
  ParserStage(std::span<const QuerySpec> queries, Engine* engine, TupleOutput* output, const QueryAccounts* accounts,
              bool may_wait);

  void AddQuery(uint32_t query) override;
  Engine::Absorbed Absorb(std::span<const RawPacket> burst, uint64_t unconditional, uint64_t endpoints,
                          int64_t end_ns) override {
    return engine_->absorb(burst, unconditional, endpoints, end_ns);
  }
  void Process(std::span<Packet> packets) override { engine_->process(packets); }
  bool wants_all_views() const override { return engine_->wants_all_views(); }
  void Advance(int64_t now_ns) override { engine_->advance(now_ns); }
  void BeginEnd(uint64_t queries) override;
  bool ContinueEnd() override;
  uint64_t Done(uint64_t queries) const override;
  OutputStats backlog() const override { return output_->stats(); }
  void SetSamplingRate(uint32_t query, double rate) override {
    output_->SetSamplingRate(query, rate, engine_->now_ns());
  }
  void SetWatchedSince(uint32_t query, int64_t time_ns) override { output_->SetWatchedSince(query, time_ns); }
  void CaptureOver() override { output_->CaptureOver(); }
  void Tick(int64_t monotonic_ns) override;
  Status Finish() override;
  Status status() const override { return output_->status(); }

  // Any thread: the state as of a tenth of a second ago, or the final one.
  UnitSnapshot published() const { return published_.Get(); }

 private:
  void Publish();
  void ChooseParsers();
  void SetArguments(uint32_t query);

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
