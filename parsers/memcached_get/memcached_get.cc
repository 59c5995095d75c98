#include <algorithm>

#include "parsers/memcached_get/exchange.h"

namespace tapline {
namespace {

using memcached::Answer;
using memcached::Exchange;
using memcached::FoundValue;
using memcached::Group;
using memcached::Request;
using memcached::Response;

enum class LookupResult : uint8_t { kHit, kMiss, kNothing };

// Looks up each key of a request in the response, in the order of the request. Values normally have that order, so a
// skipped key was a miss, unless a gap may hide its value. If values are in another order (through a proxy), each key
// is compared with up to kMaxTries values, and any gap may hide it.
class Finder {
 public:
  Finder(const Request& request, const Response& response) : response_(response), torn_(response.cut) {
    for (const FoundValue& found : response.found) torn_ |= found.key_hash == 0;
    memcached::for_each_key(request.text, [&](std::string_view key) {
      skip_gaps();
      if (next_ < size() && at(next_).key_hash == memcached::hash_of(key)) ++next_;
    });
    skip_gaps();
    ordered_ = next_ == size();
    next_ = 0;
    gap_ = false;
  }

  LookupResult find(std::string_view key, uint32_t* value_bytes) {
    const uint32_t hash = memcached::hash_of(key);
    if (ordered_) skip_gaps();
    for (size_t i = 0; i < (ordered_ ? std::min<size_t>(1, size() - next_) : std::min(kMaxTries, size())); ++i) {
      const FoundValue& found = at((next_ + i) % size());
      if (found.key_hash != hash) continue;
      next_ = ordered_ ? next_ + 1 : (next_ + i + 1) % size();
      gap_ = false;
      *value_bytes = found.value_bytes;
      return LookupResult::kHit;
    }
    const bool hidden = ordered_ ? gap_ || (response_.cut && next_ == size()) : torn_;
    return hidden ? LookupResult::kNothing : LookupResult::kMiss;
  }

 private:
  static constexpr size_t kMaxTries = 256;

  size_t size() const { return response_.key_hash == 0 ? 0 : response_.found.size() + 1; }
  FoundValue at(size_t index) const {
    return index == 0 ? FoundValue{response_.key_hash, response_.first_bytes} : response_.found[index - 1];
  }
  void skip_gaps() {
    for (; next_ < size() && at(next_).key_hash == 0; ++next_) gap_ = true;
  }

  const Response& response_;
  bool torn_;
  bool ordered_ = false;
  bool gap_ = false;  // true if there is a gap between the last value found and next_
  size_t next_ = 0;
};

// Pairs memcached commands with their responses, in the text, meta and binary protocols over TCP and UDP.
class MemcachedGet final : public TransactionParser<Exchange> {
 public:
  const Schema& schema() const override;
  Needs needs() const override {
    Needs needs = TransactionParser::needs();
    needs.packets = needs.datagrams = true;
    return needs;
  }

  void process(std::span<const Packet> burst, Emitter& out) override {
    for (const Packet& packet : burst) {
      if (packet.is_udp() && packet.connection != nullptr) look_at(packet, out);
    }
  }

 protected:
  void emit_transaction(const TupleHeader& header, const Request* request, const Response* response, Seen seen,
                        Emitter& out) override;
  void emit_silent(const TupleHeader& header, const Request& request, const Response& response, Emitter& out) override;

 private:
  // A tuple's values, in the order of the schema.
  struct Row {
    std::string_view command = {};
    std::string_view key = {};
    bool has_request = true;  // true if the request was seen
    bool answered = true;     // true if the outcome for the key is known
    bool hit = false;
    std::string_view status = {};
    Value value_bytes = Value::absent(FieldType::kU64);
    Value first_byte_ns = Value::absent(FieldType::kI64);
    Value response_time_ns = Value::absent(FieldType::kI64);
    Seen seen = Seen::kBoth;
  };

  void look_at(const Packet& packet, Emitter& out) {
    const std::string_view payload = packet.payload_text();
    Connection& connection = *packet.connection;
    if (!has_exchange(connection) && !Exchange::may_be_datagram(payload)) return;
    with_exchange(connection, out, [&](Exchange& exchange, Exchange::Sink& sink) {
      exchange.datagram(connection.side_of(packet), payload, packet.time_ns, sink);
      return ExchangeVerdict::kFine;
    });
  }

  static void emit(const TupleHeader& header, const Row& row, Emitter& out) {
    out.emit(header, {text_if(row.has_request, row.command), text_if(row.has_request || !row.key.empty(), row.key),
                      u64_if(row.answered, row.hit), text_if(row.answered, row.status), row.value_bytes,
                      row.first_byte_ns, row.response_time_ns, Value::string(partial_of(row.seen)),
                      Value::boolean(row.seen == Seen::kUnanswered)});
  }

  static void emit_keys(const TupleHeader& header, const Request& request, const Response& response, const Row& all,
                        Emitter& out);
};

std::string_view status_of(Group group, const Response& response) {
  return response.binary ? memcached::status_of(group, response.status) : memcached::status_of(group, response.answer);
}

void MemcachedGet::emit_transaction(const TupleHeader& header, const Request* request, const Response* response,
                                    Seen seen, Emitter& out) {
  Row row;
  row.seen = seen;
  row.first_byte_ns = time_to_first_byte(request, response);
  row.response_time_ns = time_to_last_byte(request, response);
  if (request == nullptr) {
    row.has_request = false;
    row.key = response->key;
    row.hit = response->answer == Answer::kValue;
    const bool was_read = row.hit && !response->binary;
    row.status = was_read ? status_of(Group::kRead, *response) : memcached::status_of(Group::kOther, response->answer);
    if (was_read) row.value_bytes = u64_if(!response->cut, response->value_bytes);
    return emit(header, row, out);
  }
  const Group group = request->command->group;
  row.command = request->command->name;
  row.key = request->text;
  row.answered = response != nullptr;
  if (request->never_answered) row.seen = Seen::kBoth, row.answered = true, row.status = "unanswered";
  if (response != nullptr) row.status = status_of(group, *response);
  row.hit = row.status == "hit";
  if (row.hit) {
    row.value_bytes = Value::u64(response->value_bytes);  // according to the response's head
  } else if (group != Group::kRead || response != nullptr) {
    row.value_bytes = Value::u64(request->value_bytes);
  }
  if (request->binary || group != Group::kRead || request->command->form == memcached::Form::kMeta) {
    return emit(header, row, out);
  }
  if (response == nullptr) {
    memcached::for_each_key(request->text, [&](std::string_view key) {
      row.key = key;
      emit(header, row, out);
    });
    return;
  }
  emit_keys(header, *request, *response, row, out);
}

// Emits one tuple for each key of an answered get in the text protocol.
void MemcachedGet::emit_keys(const TupleHeader& header, const Request& request, const Response& response,
                             const Row& all, Emitter& out) {
  Finder finder(request, response);
  memcached::for_each_key(request.text, [&](std::string_view key) {
    Row row = all;
    row.key = key;
    uint32_t value_bytes = 0;
    const LookupResult says = finder.find(key, &value_bytes);
    row.hit = says == LookupResult::kHit;
    row.value_bytes = Value::u64(value_bytes);
    if (says == LookupResult::kHit) {
      row.status = "hit";
    } else if (says == LookupResult::kNothing) {
      row.answered = false;
      row.seen = Seen::kRequest;
      row.value_bytes = Value::absent(FieldType::kU64);
      row.first_byte_ns = row.response_time_ns = Value::absent(FieldType::kI64);
    } else if (response.answer == Answer::kValue) {
      row.status = "miss";
    }
    emit(header, row, out);
  });
}

void MemcachedGet::emit_silent(const TupleHeader& header, const Request& request, const Response& response,
                               Emitter& out) {
  Row row;
  row.command = request.command->name;
  row.key = request.text;
  row.status = memcached::status_of_silence(request.command->group);
  row.value_bytes = Value::u64(request.value_bytes);
  row.first_byte_ns = row.response_time_ns = time_to_first_byte(&request, &response);
  emit(header, row, out);
}

const Schema& MemcachedGet::schema() const {
  static const Schema schema = {
      .name = "memcached_get",
      .description = "memcached commands and their responses, with one tuple for each key of a get",
      .layer = Layer::kApplication,
      .fields =
          {optional({"command", FieldType::kString, "",
                     "Command as sent (get, set, mg, ...) or name of the binary opcode (getkq, ...)"}),
           optional({"key", FieldType::kString, "", "Key of the command; a get with several keys has one tuple per key",
                     false, TextKind::kKey}),
           optional({"hit", FieldType::kU64, "hits", "1 if the server had a value for the key, otherwise 0", true}),
           optional({"status", FieldType::kString, "",
                     "hit, miss, stored, not_found, ...: the same words in all protocols"}),
           optional({"value_bytes", FieldType::kU64, "bytes", "Length of the value that was found or sent", true}),
           optional(
               {"first_byte_ns", FieldType::kI64, "ns", "First byte of the request to first byte of the response"}),
           optional(
               {"response_time_ns", FieldType::kI64, "ns", "First byte of the request to last byte of the response"}),
           partial_field(), unanswered_field()},
      .main_fields = {"key"},
      .value_field = "value_bytes",
      .duration = {.field = "response_time_ns"},
      .example = {"get", "user:99:profile", "1", "hit", "40", "59000", "59000", "", "false"},
  };
  return schema;
}

}  // namespace

std::unique_ptr<Parser> make_memcached_get() { return std::make_unique<MemcachedGet>(); }

}  // namespace tapline
