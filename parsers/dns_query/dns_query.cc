#include <algorithm>

#include "parsers/api/parser.h"
#include "parsers/dns_query/exchange.h"

namespace tapline {
namespace {

using dns::Exchange;
using dns::Message;
using dns::Request;
using dns::Response;

constexpr uint16_t kDnsPort = 53;
// Ports to exclude: multicast DNS and LLMNR send questions to a group, and other hosts answer; NetBIOS shares only the
// message format.
constexpr uint16_t kMulticastDnsPort = 5353, kLlmnrPort = 5355, kNetBiosPort = 137;

template <typename Ends>
bool has_port(const Ends& ends, uint16_t port) {
  if constexpr (requires { ends.src_port; }) {
    return ends.src_port == port || ends.dst_port == port;
  } else {
    return ends.port[0] == port || ends.port[1] == port;
  }
}

// Pairs the questions and answers of DNS over UDP and TCP.
class DnsQuery final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;
  Needs needs() const override {
    Needs needs = TransactionParser::needs();
    needs.packets = needs.datagrams = true;
    needs.interval_ns = kNsPerSecond;
    needs.every_packet = false;
    return needs;
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.is_udp() && packet.connection != nullptr) datagram(packet, out);
    }
  }

  void on_interval(int64_t end_ns, Emitter& out) override {
    report_overdue(end_ns, out);
    // Iterates backwards, since the last element replaces a removed one.
    for (size_t i = holding_.size(); i-- > 0;) {
      with_exchange(*holding_[i], out, [&](Exchange& exchange, Exchange::Sink& sink) {
        exchange.settle_responses(end_ns - Exchange::kLateNs, sink);
        if (!exchange.holds_answers()) let_go(exchange);
        return ExchangeVerdict::kFine;
      });
    }
  }

  void on_release(Connection& connection) override {
    if (has_exchange(connection)) let_go(known_exchange(connection));
    TransactionParser::on_release(connection);
  }

  StreamVerdict on_data(Connection& connection, Side side, std::span<const uint8_t> bytes, const Segment& segment,
                        Emitter& out) override {
    return with_exchange(connection, out, [&](Exchange& exchange, Exchange::Sink& sink) {
      if (!has_port(connection, kDnsPort)) exchange.set_strict();
      return exchange.data(side, bytes, segment, sink);
    });
  }

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override;

 private:
  // Returns the worse of the two messages' flaws.
  static dns::Flaw flaw_of(const Request* request, const Response* response) {
    const dns::Flaw request_flaw = request != nullptr ? request->flaw : dns::Flaw::kNone;
    return std::max(request_flaw, response != nullptr ? response->flaw : dns::Flaw::kNone);
  }

  void datagram(const Packet& packet, Emitter& out) {
    Connection& flow = *packet.connection;
    const bool is_known = has_port(packet, kDnsPort) || has_exchange(flow);
    if (!is_known && !is_likely_query(packet)) return;
    Message message;
    if (!dns::read(packet.payload(), packet.payload_bytes, &message)) return;
    if (!is_known && !dns::is_plain_question(packet.payload(), message)) return;
    // An unreadable name is reported only on the DNS port.
    if (!message.has_question_name && !has_port(packet, kDnsPort)) return;
    with_exchange(flow, out, [&](Exchange& exchange, Exchange::Sink& sink) {
      exchange.datagram(flow.side_of(packet), message, packet.payload_bytes, packet.time_ns, sink);
      if (exchange.holds_answers() && exchange.place == 0) {
        holding_.push_back(&flow);
        exchange.place = static_cast<uint32_t>(holding_.size());
      }
      return ExchangeVerdict::kFine;
    });
  }

  void let_go(Exchange& exchange) {
    if (exchange.place == 0) return;
    holding_[exchange.place - 1] = holding_.back();
    known_exchange(*holding_.back()).place = exchange.place;
    holding_.pop_back();
    exchange.place = 0;
  }

  // Returns true if a packet on another port may be a plain question, judging by its size, flags and number of
  // questions.
  static bool is_likely_query(const Packet& packet) {
    const std::span<const uint8_t> bytes = packet.payload();
    if (bytes.size() < 17 || bytes.size() > 512 || bytes[4] != 0 || bytes[5] != 1 || (bytes[2] & 0xfe) != 0)
      return false;
    return !has_port(packet, kMulticastDnsPort) && !has_port(packet, kLlmnrPort) && !has_port(packet, kNetBiosPort);
  }

  // Flows with answers that wait for their questions.
  std::vector<Connection*> holding_;
};

void DnsQuery::emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                                Emitter& out) {
  dns::Text<16> type_text, opcode_text, rcode_text;
  const bool request_flaw = request != nullptr, answered = response != nullptr;
  const uint16_t type = request_flaw ? request->type : response->type;
  out.emit(
      header,
      {Value::string(request_flaw ? request->text : response->name), Value::string(dns::name_of_type(type, &type_text)),
       Value::string(dns::name_of_opcode(request_flaw ? request->opcode : response->opcode, &opcode_text)),
       text_if(answered, answered ? dns::name_of_rcode(response->rcode, &rcode_text) : ""),
       time_to_last_byte(request, response), u64_if(answered, answered ? response->answers : 0),
       text_if(answered, answered ? std::string_view(response->data) : ""),
       u64_if(answered && response->answers > 0, answered ? response->min_ttl_s : 0),
       bool_if(answered, answered && response->authoritative), bool_if(answered, answered && response->truncated),
       u64_if(request_flaw, request_flaw ? request->retries : 0),
       u64_if(request_flaw, request_flaw ? request->bytes : 0), u64_if(answered, answered ? response->bytes : 0),
       Value::string(partial_of(seen)), Value::boolean(seen == Seen::kUnanswered),
       Value::string(dns::name_of(flaw_of(request, response)))});
}

const Schema& DnsQuery::schema() const {
  static const Schema schema = {
      .name = "dns_query",
      .description = "DNS questions and answers over UDP and TCP, paired",
      .layer = Layer::kApplication,
      .fields =
          {{"qname", FieldType::kString, "", "Requested name, in lower case; . for the root"},
           {"qtype", FieldType::kString, "", "A, AAAA, … or TYPE and its number"},
           {"opcode", FieldType::kString, "", "QUERY, IQUERY, STATUS, NOTIFY, UPDATE, DSO or OPCODE and its number"},
           optional({"rcode", FieldType::kString, "", "NOERROR, NXDOMAIN, … or RCODE and its number"}),
           optional({"answer_time_ns", FieldType::kI64, "ns", "First question to the last byte of the answer"}),
           optional({"answer_count", FieldType::kU64, "records", "Records in the answer section", true}),
           optional({"answers", FieldType::kString, "", "The records' data, joined by commas, up to 512 bytes"}),
           optional({"ttl_s", FieldType::kU64, "s", "Minimum time to live of these records"}),
           optional({"authoritative", FieldType::kBool, "", "The server is authoritative for the name"}),
           optional({"truncated", FieldType::kBool, "", "The answer did not fit, so the client asks again over TCP"}),
           optional({"retries", FieldType::kU64, "questions", "Repetitions of the question before the answer", true}),
           optional({"request_bytes", FieldType::kU64, "bytes", "The question, without UDP or TCP headers", true}),
           optional({"response_bytes", FieldType::kU64, "bytes", "The answer, without UDP or TCP headers", true}),
           partial_field(),
           unanswered_field(),
           {"malformed", FieldType::kString, "",
            "forward-pointer (a compressed name points forward), pointer-loop, bad-name (the question's name is "
            "invalid); empty for a well-formed message"}},
      .main_fields = {"qname"},
      .value_field = "answer_time_ns",
      .duration = {.field = "answer_time_ns"},
      .example = {"_kv._tcp.example.test", "SRV", "QUERY", "NOERROR", "4000", "1", "0 0 11211 kv.example.test", "0",
                  "true", "false", "0", "39", "74", "", "false", ""},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_dns_query() { return std::make_unique<DnsQuery>(); }

}  // namespace tapline
