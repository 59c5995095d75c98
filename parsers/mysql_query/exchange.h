#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "parsers/mysql_query/command.h"
#include "parsers/mysql_query/packet_reader.h"
#include "parsers/mysql_query/response.h"
#include "parsers/mysql_query/statement_table.h"
#include "parsers/transactions/halves.h"
#include "parsers/transactions/ordered_pairing.h"
#include "parsers/transactions/transaction_parser.h"

namespace tapline::mysql {

// Reads both sides of one connection. The server is identified by its first packet, or in mid-stream by bytes that look
// like a command or a response.
//
//   server: greeting ─▶ client: login ─▶ both: authentication ─▶ OK ─▶ client: command ─▶ server: response ─▶ …
//
// Commands begin with sequence number 0, which servers never send again after the greeting, so a client's packets with
// other numbers (passwords, files) are skipped. If packets are lost, a side is out of step until a segment begins like
// a command or, on the server's side, like a response to a command that was sent since then.
class Exchange {
 public:
  using Request = Command;
  using Response = mysql::Response;
  using Sink = TransactionSink<Command, Response>;

  Exchange();

  void start_in_middle(Side side) { lose_step(side); }
  ExchangeVerdict data(Side side, std::span<const uint8_t> bytes, const Segment& segment, Sink& sink);
  ExchangeVerdict gap(Side side, uint64_t bytes, const Segment& segment, Sink& sink);
  void end(Side side, Sink& sink);
  void visit_pending(Sink& sink) const;
  int64_t report_overdue(int64_t before_ns, Sink& sink) {
    return proven() ? pairing_.report_overdue(before_ns, sink) : INT64_MAX;
  }
  bool has_failed() const;
  size_t memory_bytes() const;
  void recycle();

 private:
  enum class Mode : uint8_t {
    kFirst,   // the stream's first packet
    kInStep,  // a packet begins where the last one ended
    kSeek,    // looking for the beginning of a message
  };
  // The protocol is proven by one unmistakable message, or by weaker ones with this total weight.
  static constexpr uint8_t kProof = 3;

  struct Stream {
    explicit Stream(PacketReader::KeptBytes kept_bytes) : reader(kept_bytes) {}
    PacketReader reader;
    Mode mode = Mode::kFirst;
    uint64_t offset = 0;  // position of the next byte
    uint64_t seek_bytes = 0;
  };

  // Receives the pairing's output first: keeps the texts of statements, and suppresses transactions until the
  // connection is known to use this protocol.
  class Teller;

  bool is_client(Side side) const { return client_ == side; }
  bool is_server(Side side) const { return client_ >= 0 && client_ != side; }
  bool proven() const { return proof_ >= kProof; }
  void prove(uint8_t weight, Sink& sink);
  void set_client(Side side);
  void join(Side side, const Segment& segment, Sink& sink);
  void read(Side side, Piece piece, Sink& sink);
  void lose_step(Side side);
  void hide(Side side);
  bool is_overtaken(Side side, const Piece& piece);
  bool resume(Side side, const Piece& piece, Sink& sink);
  bool resume_first(Side side, Piece piece);
  bool resume_client(Side side, const Piece& piece, Sink& sink);
  bool resume_server(Side side, const Piece& piece, Sink& sink);
  uint8_t first_sequence(const Piece& piece) const;
  bool answers_latest(const Segment& segment);
  void on_packet(Side side, const Packet& packet, Sink& sink);
  ExchangeVerdict verdict(Sink& sink);
  void report_all(Sink& sink);

  void check_first(Side side);
  void on_first_packet(Side side, const Packet& packet, Sink& sink);
  void on_refusal(const Packet& packet, Sink& sink);
  void on_login(const Packet& packet, Sink& sink);
  void report_tls(const Packet& packet, Sink& sink);
  void on_client_packet(Side side, const Packet& packet, Sink& sink);
  void on_command(const Packet& packet, Sink& sink);
  void on_request(const Packet& packet, Sink& sink);
  void report_unanswered(const Packet& packet, Sink& sink);
  void name_statement(const Command& command);
  void settle_requests(Side side, Sink& sink);

  void on_server_packet(Side side, const Packet& packet, Sink& sink);
  void read_response(Side side, const Packet& packet, Sink& sink);
  bool swallow_eof(const Packet& packet);
  bool may_begin_response(const Packet& packet) const;
  void begin_response(const Packet& packet, Sink& sink);
  void read_command_early(const Packet& response, Sink& sink);
  void end_response(Sink& sink, bool complete = true);
  void take_effect(const Command& command, const Response& response);

  Stream sides_[2];
  OrderedPairing<Command, Response> pairing_;
  ResponseReader response_reader_;
  StatementTable statements_;
  int client_ = -1;  // side, once known
  uint8_t proof_ = 0;
  bool not_mysql_ = false;
  bool over_ = false;
  bool ended_[2] = {false, false};
  bool logging_in_ = false;  // true while the client logs in and the server has not accepted yet
  bool capabilities_known_ = false;
  bool eof_may_follow_ = false;  // see ResponseReader::Progress::kMaybeDone
  bool response_acked_known_ = false;
  bool commands_known_ = false;  // true if all commands since the login are known
  // Expected sequence number of the response's next packet, or of the EOF packet that may follow a response.
  uint8_t next_sequence_ = 0;
  uint32_t server_capabilities_ = 0;
  uint32_t capabilities_ = 0;           // capabilities that both sides have
  uint32_t early_ = 0;                  // number of a command that was reported before it was complete
  uint32_t unanswered_statements_ = 0;  // prepared statements whose IDs have not arrived yet
  uint32_t latest_id_ = 0;              // ID of the latest statement whose ID is known
  uint64_t response_acked_ = 0;         // acknowledgement in the latest response's first segment
  std::string latest_text_;             // text of the latest statement to be prepared
  std::string text_;                    // scratch
};

}  // namespace tapline::mysql
