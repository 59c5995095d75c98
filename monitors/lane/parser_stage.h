// Packets through an engine into an output, on the caller's thread: run to completion.
#pragma once

#include <cstdint>
#include <span>

#include "monitors/lane/packet_stage.h"
#include "monitors/output/tuple_output.h"
#include "monitors/plan/query_spec.h"
#include "parsers/engine/engine.h"

namespace tapline {

class ParserStage final : public PacketStage {
 public:
  // `queries` are places, the same as the output's; `engine` writes to `output`. All outlive the stage. `may_wait`: an
  // end may take as long as it takes (capture files).
  ParserStage(std::span<const QuerySpec> queries, Engine* engine, TupleOutput* output, bool may_wait);

  void AddQuery(uint32_t query) override;
  void Process(std::span<Packet> packets) override { engine_->process(packets); }
  void Advance(int64_t now_ns) override { engine_->advance(now_ns); }
  void BeginEnd(uint64_t queries) override;
  bool ContinueEnd() override;
  uint64_t Done(uint64_t queries) const override;
  void Tick(int64_t monotonic_ns) override { output_->Tick(monotonic_ns, engine_->now_ns()); }
  Status Finish() override { return output_->Finish(); }
  Status status() const override { return output_->status(); }

 private:
  void ChooseParsers();

  std::span<const QuerySpec> queries_;
  Engine* engine_;
  TupleOutput* output_;
  bool may_wait_;
  uint64_t active_ = 0;
  uint64_t ending_ = 0;
  int64_t ending_at_ns_ = 0;
};

}  // namespace tapline
