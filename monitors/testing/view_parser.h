// A parser for tests that asks for every view of a packet.
#pragma once

#include <memory>

#include "parsers/api/parser.h"

namespace tapline {

// Returns a parser that emits each view's tap, and whether the view is a repeated one.
inline std::unique_ptr<Parser> view_parser() {
  class Views final : public Parser {
   public:
    const Schema& schema() const override { return schema_; }
    Needs needs() const override { return {.all_views = true}; }
    void process(std::span<const Packet> burst, Emitter& out) override {
      for (const Packet& packet : burst)
        out.emit(packet, {Value::u64(packet.tap), Value::boolean(packet.repeated_view)});
    }

   private:
    const Schema schema_{
        .name = "views",
        .fields = {{.name = "tap", .type = FieldType::kU64}, {.name = "repeated", .type = FieldType::kBool}}};
  };
  return std::make_unique<Views>();
}

}  // namespace tapline
