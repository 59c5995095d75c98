#include "parsers/mysql_query/exchange.h"

#include <utility>

namespace tapline::mysql {
namespace {

constexpr uint32_t kKeptOfFirst = 256;    // a greeting
constexpr uint32_t kKeptOfResponse = 64;  // the numbers of an OK, the code of an error
constexpr uint32_t kMaxGreetingBytes = 4 << 10;
constexpr uint32_t kMaxLoginBytes = 128 << 10;
// A connection joined in the middle is not MySQL if no message of the protocol is found within this many bytes.
constexpr uint64_t kMaxSeekBytes = 16 << 20;
constexpr size_t kKeptTextBytes = 256;

uint32_t kept_of_first(uint8_t /*first*/) { return kKeptOfFirst; }
uint32_t kept_of_response(uint8_t /*first*/) { return kKeptOfResponse; }

Command start_offset(const Packet& packet) {
  Command command;
  command.first_ns = packet.first.time_ns;
  command.begin = packet.first.offset;
  command.end = packet.end;
  command.complete = true;
  return command;
}

void trim(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptTextBytes) text.shrink_to_fit();
}

}  // namespace

class Exchange::Teller final : public Exchange::Sink {
 public:
  Teller(Exchange& exchange, Sink& out) : exchange_(exchange), out_(out) {}

  void on_transaction(const Command* command, const Response* response) override {
    if (command != nullptr && response != nullptr) exchange_.take_effect(*command, *response);
    if (exchange_.proven()) out_.on_transaction(command, response);
  }
  void on_silence(const Command& command, const Response& response) override {
    if (exchange_.proven()) out_.on_silence(command, response);
  }
  void on_client(Side side) override { out_.on_client(side); }
  void on_loss(LossReason reason) override {
    if (exchange_.proven()) out_.on_loss(reason);
  }

 private:
  Exchange& exchange_;
  Sink& out_;
};

Exchange::Exchange() : sides_{Stream(kept_of_first), Stream(kept_of_first)} {}

ExchangeVerdict Exchange::data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink) {
  Teller teller(*this, sink);
  Stream& stream = sides_[side];
  if (segment.offset != stream.offset) [[unlikely]]
    join(side, segment, teller);
  stream.offset = segment.offset + bytes.size();
  read(side, {bytes, segment}, teller);
  if (is_client(side)) settle_requests(side, teller);
  return verdict(teller);
}

ExchangeVerdict Exchange::gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink) {
  Teller teller(*this, sink);
  Stream& stream = sides_[side];
  if (segment.offset != stream.offset) join(side, segment, teller);
  stream.offset = segment.offset + bytes;
  if (stream.mode == Mode::kSeek) return ExchangeVerdict::kFine;
  Packet packet;
  switch (stream.reader.gap(bytes, segment, &packet)) {
    case PacketReader::Gap::kInside:
      break;
    case PacketReader::Gap::kPacket:
      on_packet(side, packet, teller);
      break;
    case PacketReader::Gap::kOutOfStep:
      // If a command is cut, its header still gives its end.
      if (is_client(side) && early_ == 0 && stream.reader.begun(&packet)) on_packet(side, packet, teller);
      lose_step(side);
      break;
  }
  if (is_client(side)) settle_requests(side, teller);
  return verdict(teller);
}

ExchangeVerdict Exchange::verdict(Sink& sink) {
  if (!not_mysql_ && !over_) [[likely]]
    return ExchangeVerdict::kFine;
  report_all(sink);
  return over_ ? ExchangeVerdict::kOver : ExchangeVerdict::kNotMine;
}

void Exchange::end(Side side, Sink& sink) {
  Teller teller(*this, sink);
  ended_[side] = true;
  if (ended_[0] && ended_[1]) return report_all(teller);
  if (!is_server(side)) return;
  if (Response* response = pairing_.response()) {
    response->cut = true;
    end_response(teller, false);
  }
  pairing_.server_ended(teller);
}

void Exchange::report_all(Sink& sink) {
  if (Response* response = pairing_.response()) response->cut = true;
  pairing_.report_all(sink);
}

void Exchange::visit_pending(Sink& sink) const {
  if (proven()) pairing_.visit_pending(sink);
}

bool Exchange::has_failed() const { return !proven() && sides_[0].seek_bytes + sides_[1].seek_bytes > kMaxSeekBytes; }

size_t Exchange::memory_bytes() const {
  return pairing_.memory_bytes() + statements_.memory_bytes() + latest_text_.capacity() + text_.capacity() +
         sides_[0].reader.memory_bytes() + sides_[1].reader.memory_bytes();
}

void Exchange::recycle() {
  Exchange exchange;
  exchange.pairing_ = std::move(pairing_);
  exchange.pairing_.recycle();
  trim(latest_text_);
  trim(text_);
  exchange.latest_text_ = std::move(latest_text_);
  exchange.text_ = std::move(text_);
  *this = std::move(exchange);
}

// Called when the parser did not see earlier data, since it was loaded while the connection was open.
void Exchange::join(Side side, const Segment& segment, Sink& /*sink*/) {
  sides_[side].offset = segment.offset;
  lose_step(side);
}

void Exchange::lose_step(Side side) {
  sides_[side].reader.restart();
  sides_[side].mode = Mode::kSeek;
  hide(side);
}

// Called when unseen messages of this side may follow. While the client is unknown, they may be commands or responses.
void Exchange::hide(Side side) {
  if (!is_client(side)) {
    pairing_.hide_responses();
    eof_may_follow_ = false;
    if (Response* response = pairing_.response()) response->cut = true;
  }
  if (!is_server(side)) {
    pairing_.hide_requests();
    commands_known_ = false;
    early_ = 0;
  }
}

// Returns true if a length was misread: the message being read continues although the other side has already responded
// to it or sent the next request.
bool Exchange::is_overtaken(Side side, const Piece& piece) {
  if (!piece.segment.peer_offset_known || client_ < 0) return false;
  bool strong = false;
  const PacketReader& reader = sides_[side].reader;
  const uint64_t acked = piece.segment.peer_offset;
  if (!reader.between_packets() && !(reader.first().peer_offset_known && acked > reader.first().peer_offset))
    return false;
  if (is_client(side)) return !reader.between_packets() && looks_like_command(piece.bytes, &strong);
  if (pairing_.response() != nullptr && !(response_acked_known_ && acked > response_acked_)) return false;
  if (reader.between_packets() && (pairing_.response() == nullptr || response_reader_.client_speaks())) return false;
  return looks_like_response(piece.bytes, first_sequence(piece), &strong);
}

// Returns the sequence number of the response that may begin with these bytes.
uint8_t Exchange::first_sequence(const Piece& piece) const {
  return logging_in_ && piece.bytes.size() > 3 ? piece.bytes[3] : uint8_t{1};
}

void Exchange::read(Side side, Piece piece, Sink& sink) {
  Stream& stream = sides_[side];
  if (stream.mode == Mode::kInStep && is_overtaken(side, piece)) [[unlikely]]
    lose_step(side);
  if (stream.mode == Mode::kSeek && !resume(side, piece, sink)) {
    stream.seek_bytes += piece.bytes.size();
    Response* response = is_server(side) ? pairing_.response() : nullptr;
    if (response == nullptr) return;
    response->end = stream.offset;
    response->last_ns = piece.segment.time_ns;
    return;
  }
  Packet packet;
  while (stream.reader.next(piece, &packet)) {
    on_packet(side, packet, sink);
    if (stream.mode == Mode::kSeek || not_mysql_ || over_) return;
  }
  if (stream.mode == Mode::kFirst) check_first(side);
}

void Exchange::on_packet(Side side, const Packet& packet, Sink& sink) {
  if (sides_[side].mode == Mode::kFirst) return on_first_packet(side, packet, sink);
  is_client(side) ? on_client_packet(side, packet, sink) : on_server_packet(side, packet, sink);
}

void Exchange::set_client(Side side) {
  client_ = side;
  sides_[side].reader.keep_by(kept_of_command);
  sides_[other_side(side)].reader.keep_by(kept_of_response);
}

void Exchange::prove(uint8_t weight, Sink& sink) {
  if (proven()) return;
  proof_ = static_cast<uint8_t>(proof_ + weight);
  if (proven()) sink.on_client(static_cast<Side>(client_));
}

// Resumes if the piece is the first packet of a stream whose TCP handshake was not captured: a greeting or a login.
bool Exchange::resume_first(Side side, Piece piece) {
  PacketReader reader(kept_of_first);
  Packet packet;
  uint32_t capabilities = 0;
  if (!reader.next(piece, &packet) || !piece.bytes.empty()) return false;
  if (!read_greeting(packet, &capabilities) && !read_login(packet, &capabilities)) return false;
  sides_[side].mode = Mode::kFirst;
  return true;
}

bool Exchange::resume(Side side, const Piece& piece, Sink& sink) {
  if (!proven() || logging_in_) {
    if (resume_first(side, piece)) return true;
  }
  const bool may_send_requests = !is_server(side) || !proven();
  const bool may_answer = !is_client(side) || !proven();
  if (!(may_send_requests && resume_client(side, piece, sink)) && !(may_answer && resume_server(side, piece, sink)))
    return false;
  sides_[side].mode = Mode::kInStep;
  return true;
}

bool Exchange::resume_client(Side side, const Piece& piece, Sink& sink) {
  bool strong = false;
  if (!looks_like_command(piece.bytes, &strong)) return false;
  if (!strong && is_server(side)) return false;
  if (!is_client(side)) set_client(side);
  prove(strong ? kProof : 1, sink);
  return true;
}

// Resumes at a response. It must acknowledge more than the latest one, since the middle of that may look like this.
bool Exchange::resume_server(Side side, const Piece& piece, Sink& sink) {
  bool strong = false;
  const Segment& segment = piece.segment;
  if (!looks_like_response(piece.bytes, first_sequence(piece), &strong)) return false;
  if (response_acked_known_ && segment.peer_offset_known && segment.peer_offset <= response_acked_) return false;
  if (!strong && !(is_server(side) && (proven() ? segment.peer_offset_known : answers_latest(segment)))) return false;
  if (!is_server(side)) set_client(other_side(side));
  if (pairing_.response() != nullptr) end_response(sink, false);
  prove(strong ? kProof : 2, sink);
  return true;
}

bool Exchange::answers_latest(const Segment& segment) {
  const Command* latest = pairing_.reading();
  return latest != nullptr && latest->complete && segment.peer_offset_known && segment.peer_offset == latest->end;
}

// Checks the beginning of a stream's first packet, which may rule out the protocol long before the packet is complete.
void Exchange::check_first(Side side) {
  Packet packet;
  if (!sides_[side].reader.begun(&packet)) return;
  const uint8_t first = packet.payload[0];
  const bool greeting = packet.sequence == 0 && (first == 10 || first == 0xff) && packet.length <= kMaxGreetingBytes;
  const bool login = packet.sequence == 1 && packet.length <= kMaxLoginBytes;
  if (greeting || login) return;
  if (proven()) return lose_step(side);
  not_mysql_ = true;
}

void Exchange::on_first_packet(Side side, const Packet& packet, Sink& sink) {
  uint32_t capabilities = 0;
  sides_[side].mode = Mode::kInStep;
  if (!is_client(side) && read_greeting(packet, &capabilities)) {
    set_client(other_side(side));
    server_capabilities_ = capabilities;
    logging_in_ = true;
    prove(kProof, sink);
    if (packet.payload[0] == 0xff) on_refusal(packet, sink);
    return;
  }
  if (!is_server(side) && read_login(packet, &capabilities)) {
    set_client(side);
    prove(kProof, sink);
  } else if (!is_client(side) || !read_login(packet, &capabilities)) {
    // If the other side is known to speak the protocol, this stream's actual beginning was not captured.
    if (proven()) return lose_step(side);
    not_mysql_ = true;
    return;
  }
  capabilities_known_ = server_capabilities_ != 0;
  capabilities_ = capabilities_known_ ? capabilities & server_capabilities_ : capabilities;
  on_login(packet, sink);
}

void Exchange::on_refusal(const Packet& packet, Sink& sink) {
  Response response;
  response.start(packet.first);
  response.greeting = true;
  response.end = packet.end;
  response.complete = true;
  response_reader_.begin(ExpectedResponse::kLogin);
  response_reader_.read(packet, &response);
  sink.on_transaction(nullptr, &response);
}

void Exchange::on_login(const Packet& packet, Sink& sink) {
  logging_in_ = commands_known_ = true;
  if (capabilities_known_) {
    const bool no_eof_packets = (capabilities_ & capability::kDeprecateEof) != 0;
    response_reader_.set_eof_packets(no_eof_packets ? EofPackets::kNotSent : EofPackets::kSent);
  }
  over_ = is_tls_request(packet);
  if (over_) return report_tls(packet, sink);
  Command& command = pairing_.begin_request(packet.first, sink);
  read_command(packet, 0, true, &command, &text_);
  command.code = code::kConnect;
  pairing_.end_request(packet.end);
}

void Exchange::report_tls(const Packet& packet, Sink& sink) {
  Command command = start_offset(packet);
  command.code = code::kConnect;
  Response response;
  response.status = Status::kTls;
  sink.on_transaction(&command, &response);
}

void Exchange::on_client_packet(Side side, const Packet& packet, Sink& sink) {
  if (packet.sequence == 0 && packet.payload.empty() && packet.length > 0) {
    commands_known_ = false;
    return pairing_.hide_requests();
  }
  if (packet.sequence == 0) {
    if (packet.payload.empty() || kind_of(packet.payload[0]).empty()) return lose_step(side);
    return on_command(packet, sink);
  }
  Command* command = pairing_.reading();
  if (command != nullptr) {
    command->more_bytes += packet.end - packet.first.offset;
  } else if (!logging_in_) {
    lose_step(side);
  }
}

void Exchange::on_command(const Packet& packet, Sink& sink) {
  if (std::exchange(early_, 0) != 0) return pairing_.end_request(packet.end);
  logging_in_ = false;
  // The client has received all of the last response, although its end was not found here.
  const bool server_lost = sides_[other_side(static_cast<Side>(client_))].mode == Mode::kSeek;
  if (server_lost && pairing_.response() != nullptr) end_response(sink, false);
  is_answered(packet.payload[0]) ? on_request(packet, sink) : report_unanswered(packet, sink);
}

void Exchange::on_request(const Packet& packet, Sink& sink) {
  Command& command = pairing_.begin_request(packet.first, sink);
  read_command(packet, capabilities_, capabilities_known_, &command, &text_);
  if (command.code == code::kPrepare) {
    latest_text_ = text_;
    ++unanswered_statements_;
  }
  name_statement(command);
  pairing_.keep_text(command, text_);
  pairing_.end_request(packet.end);
}

void Exchange::report_unanswered(const Packet& packet, Sink& sink) {
  Command command = start_offset(packet);
  read_command(packet, capabilities_, capabilities_known_, &command, &text_);
  if (command.code == code::kClose) statements_.forget(command.statement_id);
  sink.on_transaction(&command, nullptr);
}

// Sets text_ to the text of the statement that a command runs, if it is known. A statement may be executed before the
// response with its ID was seen, or even sent.
void Exchange::name_statement(const Command& command) {
  if (!runs_statement(command.code)) return;
  if (const StatementTable::Statement* statement = statements_.find(command.statement_id)) {
    text_ = statement->text;
  } else if (unanswered_statements_ == 1 && commands_known_ &&
             (command.statement_id == kLatestStatement || command.statement_id == latest_id_ + 1)) {
    text_ = latest_text_;
  }
}

void Exchange::settle_requests(Side side, Sink& sink) {
  const Stream& stream = sides_[side];
  const bool reading = stream.mode == Mode::kInStep && !stream.reader.between_packets() && early_ == 0;
  pairing_.requests_settled(reading ? stream.reader.first().offset : stream.offset, sink);
}

void Exchange::on_server_packet(Side side, const Packet& packet, Sink& sink) {
  if (pairing_.response() == nullptr) {
    if (swallow_eof(packet)) return;
    if (!may_begin_response(packet)) return lose_step(side);
    begin_response(packet, sink);
  } else if (packet.sequence != next_sequence_ && !response_reader_.client_speaks()) {
    return lose_step(side);
  }
  read_response(side, packet, sink);
}

bool Exchange::swallow_eof(const Packet& packet) {
  if (!std::exchange(eof_may_follow_, false)) return false;
  const bool belongs = is_eof_packet(packet) && packet.sequence == next_sequence_;
  response_reader_.set_eof_packets(belongs ? EofPackets::kSent : EofPackets::kNotSent);
  return belongs;
}

// Returns true if the packet may begin a response: its sequence number continues the command's. A server that closes a
// connection on its own begins at 0.
bool Exchange::may_begin_response(const Packet& packet) const {
  if (packet.sequence == 1 || logging_in_) return true;
  if (packet.sequence == 0) return !packet.payload.empty() && packet.payload[0] == 0xff;
  const Command* next = pairing_.next_request();
  return next != nullptr && packet.sequence == static_cast<uint8_t>(next->sequence + next->parts);
}

void Exchange::begin_response(const Packet& packet, Sink& sink) {
  read_command_early(packet, sink);
  Response response;
  response.sequence = packet.sequence;
  const Command* command = pairing_.begin_response(packet.first, response, sink);
  const ExpectedResponse unknown = logging_in_ ? ExpectedResponse::kLogin : ExpectedResponse::kUnknown;
  response_reader_.begin(command != nullptr ? expected_of(command->code) : unknown);
  response_acked_ = packet.first.peer_offset;
  response_acked_known_ = packet.first.peer_offset_known;
}

// Reads a command that is incomplete when its response arrives: a server may refuse a command before it is complete.
void Exchange::read_command_early(const Packet& response, Sink& sink) {
  const Stream& client = sides_[client_];
  if (pairing_.next_request() != nullptr || client.mode != Mode::kInStep || client.reader.between_packets()) return;
  if (response.first.peer_offset_known && response.first.peer_offset > client.offset) return;
  Packet packet;
  if (!client.reader.begun(&packet) || packet.sequence != 0 || !is_answered(packet.payload[0])) return;
  on_request(packet, sink);
  if (Command* command = pairing_.reading()) {
    command->cut = true;
    command->complete = false;
    command->end = client.offset;
    early_ = command->number;
  }
}

void Exchange::read_response(Side side, const Packet& packet, Sink& sink) {
  next_sequence_ = static_cast<uint8_t>(packet.sequence + packet.parts);
  Response* response = pairing_.response();
  response->end = packet.end;
  response->last_ns = packet.last_ns;
  switch (response_reader_.read(packet, response)) {
    case ResponseReader::Progress::kMore:
      return;
    case ResponseReader::Progress::kMaybeDone:
      eof_may_follow_ = true;
      [[fallthrough]];
    case ResponseReader::Progress::kDone:
      return end_response(sink);
    case ResponseReader::Progress::kNot:
      return lose_step(side);
  }
}

void Exchange::end_response(Sink& sink, bool complete) {
  Response* response = pairing_.response();
  const Command* command = pairing_.answered();
  if (logging_in_ && response->status != Status::kNone && (command == nullptr || command->code == code::kConnect)) {
    logging_in_ = false;
    const bool compressed = (capabilities_ & (capability::kCompress | capability::kZstd)) != 0;
    if (capabilities_known_ && compressed && response->status == Status::kOk) {
      response->status = Status::kCompressed;
      over_ = true;
    }
  }
  pairing_.end_response(response->end, response->last_ns, sink, complete);
}

void Exchange::take_effect(const Command& command, const Response& response) {
  if (command.code == code::kPrepare && response.prepared) {
    statements_.put(response.statement_id, command.text, command.cut);
    latest_id_ = response.statement_id;
    unanswered_statements_ = 0;
  }
  const bool forgets = command.code == code::kChangeUser || command.code == code::kResetConnection;
  if (forgets && response.status == Status::kOk) statements_.clear();
}

}  // namespace tapline::mysql
