#include "parsers/api/parser.h"

namespace tapline {

std::unique_ptr<Parser> make_sample() {
  return packet_parser({.name = "sample",
                        .description = "URLs of HTTP GET requests that begin a packet",
                        .fields = {{"url", FieldType::kString, "", "Target as sent", false, TextKind::kUrl}},
                        .main_fields = {"url"},
                        .example = {"/v/8/page0938.html"}},
                       [](const Packet& packet, Emitter& out) {
                         const std::string_view text = packet.payload_text();
                         if (!text.starts_with("GET ")) return;
                         out.emit(packet, {Value::string(text.substr(4, text.find(' ', 4) - 4))});
                       });
}

}  // namespace tapline
