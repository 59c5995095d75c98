#include "parsers/transactions/id_pairing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tapline {
namespace {

struct Ask : RequestHalf {
  std::string name;
};
struct Answer : ResponseHalf {
  std::string name;
};
using Told = std::vector<std::string>;

class Sink final : public TransactionSink<Ask, Answer> {
 public:
  void on_transaction(const Ask* ask, const Answer* answer) override {
    told.push_back((ask != nullptr ? ask->name : "-") + ":" + (answer != nullptr ? answer->name : "-"));
  }
  void on_silence(const Ask& /*ask*/, const Answer& /*later*/) override {}
  void on_client(Side /*side*/) override {}
  void on_loss(LossReason /*reason*/) override { ++losses; }

  uint32_t losses = 0;
  Told told;
};

// Every message is 10 bytes long. `acked`: bytes of the requests that the server had received.
class Talk {
 public:
  Talk& ask(uint32_t id, const std::string& name) {
    pairing.begin_request(id, {++now_ns, asked, 0, true}, sink).name = name;
    asked += 10;
    pairing.end_request(id, asked, sink);
    pairing.requests_settled(asked, sink);
    return *this;
  }
  Talk& answer(uint32_t id, const std::string& name, uint64_t acked) {
    begin(id, name, acked);
    return end(id);
  }
  Talk& begin(uint32_t id, const std::string& name, uint64_t acked) {
    pairing.begin_response(id, {++now_ns, answered, acked, true}, sink).name = name;
    answered += 10;
    return *this;
  }
  Talk& end(uint32_t id) {
    pairing.end_response(id, answered, ++now_ns, sink);
    return *this;
  }
  Talk& lose_asks(uint64_t bytes) {
    asked += bytes;
    pairing.requests_settled(asked, sink);
    return *this;
  }
  Told told() {
    pairing.tell_all(sink);
    EXPECT_EQ(pairing.pending(), 0u);
    return sink.told;
  }

  IdPairing<uint32_t, Ask, Answer, 8> pairing;
  Sink sink;
  uint64_t asked = 0, answered = 0;
  int64_t now_ns = 0;
};

TEST(IdPairing, PairsInAnyOrder) {
  EXPECT_EQ(Talk().ask(1, "a").ask(2, "b").answer(2, "B", 20).answer(1, "A", 20).told(), (Told{"b:B", "a:A"}));
  EXPECT_EQ(Talk().ask(1, "a").ask(2, "b").begin(1, "A", 20).begin(2, "B", 20).end(2).end(1).told(),
            (Told{"b:B", "a:A"}));
}

TEST(IdPairing, HalvesAreReportedAsSuch) {
  EXPECT_EQ(Talk().ask(1, "a").told(), Told{"a:-"});
  EXPECT_EQ(Talk().ask(1, "a").begin(1, "A", 10).told(), Told{"a:A"});
  EXPECT_EQ(Talk().answer(5, "E", 0).told(), Told{"-:E"});
}

TEST(IdPairing, AResponseWaitsForItsLateRequest) {
  Talk talk;
  talk.answer(1, "A", 10);
  EXPECT_EQ(talk.sink.told, Told{});
  talk.ask(1, "a");
  EXPECT_EQ(talk.sink.told, Told{"a:A"});
}

TEST(IdPairing, AResponseWithoutItsRequestIsAHalf) {
  EXPECT_EQ(Talk().answer(1, "A", 10).lose_asks(10).ask(1, "b").answer(1, "B", 20).told(), (Told{"-:A", "b:B"}));
}

TEST(IdPairing, AReusedNumberIsAnotherTransaction) {
  EXPECT_EQ(Talk().ask(1, "a").ask(1, "b").answer(1, "B", 20).told(), (Told{"a:-", "b:B"}));
  // This answer was sent before the server had received the request.
  EXPECT_EQ(Talk().ask(2, "x").answer(2, "X", 10).ask(1, "b").answer(1, "A", 10).told(), (Told{"x:X", "b:-", "-:A"}));
}

TEST(IdPairing, LongTransactionsSurviveShortOnes) {
  Talk talk;
  talk.ask(1000, "long");
  for (uint32_t id = 0; id < 100; ++id) talk.ask(id, "s").answer(id, "S", talk.asked);
  EXPECT_EQ(talk.sink.losses, 0u);
  EXPECT_EQ(talk.answer(1000, "LONG", talk.asked).sink.told.back(), "long:LONG");
  EXPECT_EQ(talk.sink.told.size(), 101u);
}

TEST(IdPairing, TooManyPendingAreReportedOldestFirst) {
  Talk talk;
  for (uint32_t id = 0; id < 10; ++id) talk.ask(id, std::to_string(id));
  EXPECT_EQ(talk.sink.losses, 2u);
  EXPECT_EQ(talk.sink.told, (Told{"0:-", "1:-"}));
  EXPECT_EQ(talk.told().size(), 10u);
}

TEST(IdPairing, OldTransactionsAreGivenUp) {
  Talk talk;
  talk.ask(1, "a").ask(2, "b").ask(3, "c");
  talk.pairing.give_up(2, talk.sink);
  EXPECT_EQ(talk.sink.told, Told{"b:-"});
  talk.pairing.give_up_before(3, talk.sink);
  EXPECT_EQ(talk.sink.told, (Told{"b:-", "a:-"}));
  EXPECT_EQ(talk.told(), (Told{"b:-", "a:-", "c:-"}));
}

TEST(IdPairing, TextsCountAsMemory) {
  Talk talk;
  const size_t before = talk.pairing.memory_bytes();
  talk.ask(1, "a");
  talk.pairing.keep_text(*talk.pairing.find_request(1), std::string(1000, 'x'));
  EXPECT_GE(talk.pairing.memory_bytes(), before + 1000);
  talk.answer(1, "A", 10);
  EXPECT_EQ(talk.pairing.memory_bytes(), before);
}

}  // namespace
}  // namespace tapline
