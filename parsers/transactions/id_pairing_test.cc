#include "parsers/transactions/id_pairing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tapline {
namespace {

struct Request : RequestHalf {
  std::string name;
};
struct Answer : ResponseHalf {
  std::string name;
};
using Reports = std::vector<std::string>;

class Sink final : public TransactionSink<Request, Answer> {
 public:
  void on_transaction(const Request* request, const Answer* response) override {
    reports.push_back((request != nullptr ? request->name : "-") + ":" + (response != nullptr ? response->name : "-"));
  }
  void on_silence(const Request& /*ask*/, const Answer& /*later*/) override {}
  void on_client(Side /*side*/) override {}
  void on_loss(LossReason /*reason*/) override { ++losses; }

  uint32_t losses = 0;
  Reports reports;
};

// A session in which every message is 10 bytes long. `acked` is the number of request bytes that the server had
// received.
class Session {
 public:
  Session& request(uint32_t id, const std::string& name) {
    pairing.begin_request(id, {++now_ns, request_bytes, 0, true}, sink).name = name;
    request_bytes += 10;
    pairing.end_request(id, request_bytes, sink);
    pairing.requests_settled(request_bytes, sink);
    return *this;
  }
  Session& answer(uint32_t id, const std::string& name, uint64_t acked) {
    begin(id, name, acked);
    return end(id);
  }
  Session& begin(uint32_t id, const std::string& name, uint64_t acked) {
    pairing.begin_response(id, {++now_ns, answered, acked, true}, sink).name = name;
    answered += 10;
    return *this;
  }
  Session& end(uint32_t id) {
    pairing.end_response(id, answered, ++now_ns, sink);
    return *this;
  }
  Session& lose_requests(uint64_t bytes) {
    request_bytes += bytes;
    pairing.requests_settled(request_bytes, sink);
    return *this;
  }
  Reports reports() {
    pairing.report_all(sink);
    EXPECT_EQ(pairing.pending(), 0u);
    return sink.reports;
  }

  IdPairing<uint32_t, Request, Answer, 8> pairing;
  Sink sink;
  uint64_t request_bytes = 0, answered = 0;
  int64_t now_ns = 0;
};

TEST(IdPairing, PairsInAnyOrder) {
  EXPECT_EQ(Session().request(1, "a").request(2, "b").answer(2, "B", 20).answer(1, "A", 20).reports(),
            (Reports{"b:B", "a:A"}));
  EXPECT_EQ(Session().request(1, "a").request(2, "b").begin(1, "A", 20).begin(2, "B", 20).end(2).end(1).reports(),
            (Reports{"b:B", "a:A"}));
}

TEST(IdPairing, ReportsOneSidedTransactions) {
  EXPECT_EQ(Session().request(1, "a").reports(), Reports{"a:-"});
  EXPECT_EQ(Session().request(1, "a").begin(1, "A", 10).reports(), Reports{"a:A"});
  EXPECT_EQ(Session().answer(5, "E", 0).reports(), Reports{"-:E"});
}

TEST(IdPairing, AResponseWaitsForItsLateRequest) {
  Session talk;
  talk.answer(1, "A", 10);
  EXPECT_EQ(talk.sink.reports, Reports{});
  talk.request(1, "a");
  EXPECT_EQ(talk.sink.reports, Reports{"a:A"});
}

TEST(IdPairing, ReportsAResponseWithoutItsRequest) {
  EXPECT_EQ(Session().answer(1, "A", 10).lose_requests(10).request(1, "b").answer(1, "B", 20).reports(),
            (Reports{"-:A", "b:B"}));
}

TEST(IdPairing, AReusedNumberIsAnotherTransaction) {
  EXPECT_EQ(Session().request(1, "a").request(1, "b").answer(1, "B", 20).reports(), (Reports{"a:-", "b:B"}));
  // This response was sent before the server had received the request.
  EXPECT_EQ(Session().request(2, "x").answer(2, "X", 10).request(1, "b").answer(1, "A", 10).reports(),
            (Reports{"x:X", "b:-", "-:A"}));
}

TEST(IdPairing, LongTransactionsSurviveShortOnes) {
  Session talk;
  talk.request(1000, "long");
  for (uint32_t id = 0; id < 100; ++id) talk.request(id, "s").answer(id, "S", talk.request_bytes);
  EXPECT_EQ(talk.sink.losses, 0u);
  EXPECT_EQ(talk.answer(1000, "LONG", talk.request_bytes).sink.reports.back(), "long:LONG");
  EXPECT_EQ(talk.sink.reports.size(), 101u);
}

TEST(IdPairing, TooManyPendingAreReportedOldestFirst) {
  Session talk;
  for (uint32_t id = 0; id < 10; ++id) talk.request(id, std::to_string(id));
  EXPECT_EQ(talk.sink.losses, 2u);
  EXPECT_EQ(talk.sink.reports, (Reports{"0:-", "1:-"}));
  EXPECT_EQ(talk.reports().size(), 10u);
}

TEST(IdPairing, EvictsOldTransactions) {
  Session talk;
  talk.request(1, "a").request(2, "b").request(3, "c");
  talk.pairing.expire(2, talk.sink);
  EXPECT_EQ(talk.sink.reports, Reports{"b:-"});
  talk.pairing.expire_before(3, talk.sink);
  EXPECT_EQ(talk.sink.reports, (Reports{"b:-", "a:-"}));
  EXPECT_EQ(talk.reports(), (Reports{"b:-", "a:-", "c:-"}));
}

TEST(IdPairing, TextsCountAsMemory) {
  Session talk;
  const size_t previous_memory_bytes = talk.pairing.memory_bytes();
  talk.request(1, "a");
  talk.pairing.keep_text(*talk.pairing.find_request(1), std::string(1000, 'x'));
  EXPECT_GE(talk.pairing.memory_bytes(), previous_memory_bytes + 1000);
  talk.answer(1, "A", 10);
  EXPECT_EQ(talk.pairing.memory_bytes(), previous_memory_bytes);
}

}  // namespace
}  // namespace tapline
