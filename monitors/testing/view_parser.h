// A parser for tests that requests every view of a packet, and fragments.
#pragma once

#include <memory>

#include "parsers/api/parser.h"

namespace tapline {

// Returns a parser that emits each view's tap, whether the view is a repeated one, and whether it is a fragment.
inline std::unique_ptr<Parser> view_parser() {
  class Views final : public Parser {
   public:
    const Schema& schema() const override { return schema_; }
    Needs needs() const override { return {.all_views = true, .fragments = true}; }
    void process(std::span<const Packet> burst, Emitter& out) override {
      for (const Packet& packet : burst)
        out.emit(packet,
                 {Value::u64(packet.tap), Value::boolean(packet.repeated_view), Value::boolean(packet.fragment)});
    }

   private:
    const Schema schema_{.name = "views",
                         .fields = {{.name = "tap", .type = FieldType::kU64},
                                    {.name = "repeated", .type = FieldType::kBool},
                                    {.name = "fragment", .type = FieldType::kBool}}};
  };
  return std::make_unique<Views>();
}

}  // namespace tapline
