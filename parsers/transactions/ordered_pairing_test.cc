#include "parsers/transactions/ordered_pairing.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tapline {
namespace {

struct Request : RequestHalf {
  uint32_t index = 0;  // its actual number, which the pairing must infer without reading it
  uint32_t tag = 0;    // repeated by its response, if the protocol has such a field
  bool quiet = false;
  bool contradicts(const struct Answer& answer) const;
  bool may_be_silent() const { return quiet; }
};
struct Answer : ResponseHalf {
  uint32_t index = 0;
  uint32_t tag = 0;
};
bool Request::contradicts(const Answer& response) const { return tag != response.tag; }

using Pairing = OrderedPairing<Request, Answer>;

class Sink final : public TransactionSink<Request, Answer> {
 public:
  void on_transaction(const Request* request, const Answer* response) override {
    if (request != nullptr && response != nullptr) {
      pairs += 1;
      wrong += request->index != response->index;
    }
    reports.push_back((request != nullptr ? std::to_string(request->index) : "-") + ":" +
                      (response != nullptr ? std::to_string(response->index) : "-"));
  }
  void on_silence(const Request& request, const Answer& /*later*/) override {
    reports.push_back(std::to_string(request.index) + ":silent");
  }
  void on_client(Side /*side*/) override {}
  void on_loss(LossReason /*reason*/) override { ++losses; }

  uint32_t pairs = 0, wrong = 0, losses = 0;
  std::vector<std::string> reports;
};

// The messages of one connection. Every message is 10 bytes long and one microsecond after the previous one.
class Session {
 public:
  Session& request(uint32_t index, uint32_t tag = 0, bool quiet = false) {
    Request& request = pairing.begin_request(segment(request_bytes_, answered_), sink);
    request.index = index;
    request.tag = tag;
    request.quiet = quiet;
    request_bytes_ += 10;
    pairing.end_request(request_bytes_);
    pairing.requests_settled(request_bytes_, sink);
    return *this;
  }
  Session& answer(uint32_t index, uint32_t tag = 0) {
    Answer response;
    response.index = index;
    response.tag = tag;
    const Segment first = segment(answered_, request_bytes_);
    pairing.begin_response(first, response, sink);
    answered_ += 10;
    pairing.end_response(answered_, first.time_ns, sink);
    return *this;
  }
  Session& lose_request() {
    request_bytes_ += 10;
    pairing.hide_requests();
    pairing.requests_settled(request_bytes_, sink);
    return *this;
  }
  // Adds a request that arrives when the caller runs its function in `late`, after the server's responses.
  Session& late_request(uint32_t index, std::vector<std::function<void()>>* late) {
    const Segment first = segment(request_bytes_, answered_);
    late->push_back([this, index, first] {
      Request& request = pairing.begin_request(first, sink);
      request.index = index;
      request.tag = 0;
      request.quiet = false;
      pairing.end_request(first.offset + 10);
      pairing.requests_settled(first.offset + 10, sink);
    });
    request_bytes_ += 10;
    return *this;
  }
  Session& lose_response() {
    answered_ += 10;
    pairing.hide_responses();
    return *this;
  }
  // Adds a response that is captured, but that the stream's reader does not recognise.
  Session& miss_response() {
    answered_ += 10;
    return *this;
  }
  // Adds sequential exchanges, starting with 0.
  Session& wait_for(uint32_t exchanges) {
    for (uint32_t i = 0; i < exchanges; ++i) request(i).answer(i);
    return *this;
  }
  std::vector<std::string> reports() {
    pairing.report_all(sink);
    EXPECT_EQ(pairing.memory_bytes(), 0u);
    return sink.reports;
  }

  Pairing pairing;
  Sink sink;

 private:
  Segment segment(uint64_t offset, uint64_t peer_offset) { return {now_ns_ += 1000, offset, peer_offset, true}; }

  uint64_t request_bytes_ = 0, answered_ = 0;
  int64_t now_ns_ = 0;
};

using Reports = std::vector<std::string>;

TEST(OrderedPairing, PairsInOrder) {
  EXPECT_EQ(Session().request(1).answer(1).request(2).request(3).answer(2).answer(3).reports(),
            (Reports{"1:1", "2:2", "3:3"}));
  EXPECT_EQ(Session().request(1).reports(), Reports{"1:-"});
  EXPECT_EQ(Session().answer(1).reports(), Reports{"-:1"});
}

TEST(OrderedPairing, AGapAffectsOnlyItsTransaction) {
  EXPECT_EQ(Session().request(1).lose_response().request(2).answer(2).reports(), (Reports{"1:-", "2:2"}));
  EXPECT_EQ(Session().request(1).answer(1).lose_request().answer(2).request(3).answer(3).reports(),
            (Reports{"1:1", "-:2", "3:3"}));
}

// The hole is between the waiting responses, not before them.
TEST(OrderedPairing, AGapAmongWaitingResponsesCountsAtItsPosition) {
  std::vector<std::function<void()>> late;
  Session talk;
  talk.request(1).answer(1);
  for (const uint32_t index : {2, 3, 4, 5, 6, 7}) {
    talk.late_request(index, &late);
    index == 5 ? talk.lose_response() : talk.answer(index);
  }
  late.front() = [&] {
    talk.pairing.hide_requests();
    talk.pairing.requests_settled(20, talk.sink);
  };
  for (const auto& arrive : late) arrive();
  EXPECT_EQ(talk.reports(), (Reports{"1:1", "-:2", "3:3", "4:4", "5:-", "6:6", "7:7"}));
}

TEST(OrderedPairing, APipelineIsResynchronizedByTheNextBatch) {
  EXPECT_EQ(Session()
                .request(1)
                .request(2)
                .request(3)
                .answer(1)
                .lose_response()
                .answer(3)
                .request(4)
                .request(5)
                .answer(4)
                .answer(5)
                .reports(),
            (Reports{"1:1", "2:-", "3:-", "-:3", "4:4", "5:5"}));
}

TEST(OrderedPairing, OneSidedEvidenceResolvesAPipeline) {
  EXPECT_EQ(Session().request(1, 7).request(2, 8).request(3, 9).answer(1, 7).lose_response().answer(3, 9).reports(),
            (Reports{"1:1", "2:-", "3:3"}));
  // Two requests fit.
  EXPECT_EQ(Session().request(1, 7).request(2, 9).request(3, 9).answer(1, 7).lose_response().answer(3, 9).reports(),
            (Reports{"1:1", "2:-", "3:-", "-:3"}));
}

TEST(OrderedPairing, DoesNotPairContradictoryMessages) {
  EXPECT_EQ(Session().request(1, 7).answer(2, 8).request(3, 9).answer(3, 9).reports(), (Reports{"1:-", "-:2", "3:3"}));
}

TEST(OrderedPairing, QuietRequestsNeedNoResponse) {
  EXPECT_EQ(Session().request(1, 7, true).request(2, 8, true).request(3, 9).answer(2, 8).answer(3, 9).reports(),
            (Reports{"1:silent", "2:2", "3:3"}));
  // The gap may have removed the quiet request's response.
  EXPECT_EQ(Session().request(1, 7, true).request(2, 9).lose_response().answer(2, 9).reports(),
            (Reports{"1:-", "2:2"}));
}

TEST(OrderedPairing, TheLastResponsesToABatchAreCountedBackFromTheNextBatch) {
  Session talk;
  talk.wait_for(4)
      .request(4)
      .request(5)
      .request(6)
      .request(7)
      .answer(4)
      .lose_response()
      .answer(6)
      .answer(7)
      .request(8)
      .answer(8);
  EXPECT_EQ(talk.reports(), (Reports{"0:0", "1:1", "2:2", "3:3", "4:4", "5:-", "6:6", "7:7", "8:8"}));
  // If the client was not seen to wait, the next requests prove nothing.
  EXPECT_EQ(Session().request(0).request(1).answer(0).lose_response().request(2).request(3).answer(2).reports(),
            (Reports{"0:0", "1:-", "2:-", "3:-", "-:2"}));
}

TEST(OrderedPairing, AnUnrecognizedResponseShiftsNoPairs) {
  Session talk;
  talk.wait_for(4).request(4).miss_response().request(5).answer(5).request(6).answer(6);
  EXPECT_EQ(talk.reports(), (Reports{"0:0", "1:1", "2:2", "3:3", "4:-", "5:5", "6:6"}));
}

TEST(OrderedPairing, TooManyPendingAreReportedOldestFirst) {
  Session talk;
  for (uint32_t i = 0; i < 130; ++i) talk.request(i);
  EXPECT_EQ(talk.sink.losses, 2u);
  EXPECT_EQ(talk.sink.reports, (Reports{"0:-", "1:-"}));
  EXPECT_EQ(talk.reports().size(), 130u);
}

TEST(OrderedPairing, TextsCountAsMemory) {
  Pairing pairing;
  Sink sink;
  Request& request =
      pairing.begin_request({.time_ns = 1, .offset = 0, .peer_offset = 0, .peer_offset_known = true}, sink);
  pairing.keep_text(request, std::string(1000, 'x'));
  pairing.end_request(10);
  EXPECT_GE(pairing.memory_bytes(), 1000u);
  pairing.begin_response({.time_ns = 2, .offset = 0, .peer_offset = 10, .peer_offset_known = true}, {}, sink);
  EXPECT_GE(pairing.memory_bytes(), 1000u);
  pairing.end_response(10, 2, sink);
  EXPECT_EQ(pairing.memory_bytes(), 0u);
  EXPECT_EQ(sink.pairs, 1u);
}

// Simulates a client and a server that are far apart, and a mirror that shows their messages to the pairing but loses
// some.
class Simulation {
 public:
  enum class Client { kWaits, kBatches, kWindow };

  Simulation(Client client, double loss, uint32_t seed) : client_(client), loss_(loss), random_(seed) {}

  void run(uint32_t requests) {
    while (answered_ < requests) step(requests);
    drain(0);
    pairing_.report_all(sink);
  }

  Sink sink;
  uint32_t both_seen = 0;

 private:
  using Event = std::function<void()>;

  void step(uint32_t requests) {
    now_ns_ += 1 + random_() % 1000;
    switch (random_() % 4) {
      case 0:
        if (sent_ >= requests || !may_send()) break;
        for (uint32_t more = client_ == Client::kBatches ? 1 + random_() % 6 : 1; more > 0; --more) send();
        break;
      case 1:
        server_has_ = sent_bytes_;
        server_messages_ = sent_;
        break;
      case 2:
        if (answered_ < server_messages_) answer();
        break;
      default:
        client_has_ = answered_bytes_;
        client_messages_ = answered_;
        drain(random_() % 3);  // the mirror shows one direction a little later than the other
    }
  }

  bool may_send() {
    const uint32_t outstanding = sent_ - client_messages_;
    if (client_ == Client::kWaits) return outstanding == 0;
    if (client_ == Client::kWindow) return outstanding < 4;
    return outstanding == 0;
  }

  bool lost() { return std::uniform_real_distribution<>(0, 1)(random_) < loss_ && answered_ > 50; }

  void send() {
    const Segment first = {now_ns_, sent_bytes_, client_has_, true};
    const uint32_t index = sent_++;
    sent_bytes_ += 20 + random_() % 100;
    const bool is_lost = lost();
    request_lost_.push_back(is_lost);
    late_.push_back([this, first, index, is_lost, end = sent_bytes_] {
      if (is_lost) {
        pairing_.hide_requests();
      } else {
        pairing_.begin_request(first, sink).index = index;
        pairing_.end_request(end);
      }
      pairing_.requests_settled(end, sink);
    });
    if (random_() % 8 != 0) drain(0);
  }

  void answer() {
    const Segment first = {now_ns_, answered_bytes_, server_has_, true};
    Answer response;
    response.index = answered_++;
    answered_bytes_ += 20 + random_() % 100;
    if (lost()) {
      pairing_.hide_responses();
      return;
    }
    both_seen += !request_lost_[response.index];
    pairing_.begin_response(first, response, sink);
    pairing_.end_response(answered_bytes_, now_ns_, sink);
  }

  void drain(size_t keep) {
    while (late_.size() > keep) {
      late_.front()();
      late_.pop_front();
    }
  }

  Client client_;
  double loss_;
  std::mt19937 random_;
  Pairing pairing_;
  std::deque<Event> late_;
  std::vector<bool> request_lost_;
  int64_t now_ns_ = 0;
  uint32_t sent_ = 0, server_messages_ = 0, answered_ = 0, client_messages_ = 0;
  uint64_t sent_bytes_ = 0, server_has_ = 0, answered_bytes_ = 0, client_has_ = 0;
};

// Returns the share of correct pairs among those with both messages captured. Fails the test if a pair is wrong.
double share_of_pairs(Simulation::Client client, double loss) {
  uint32_t right = 0, both = 0, wrong = 0;
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    Simulation simulation(client, loss, seed);
    simulation.run(2000);
    right += simulation.sink.pairs - simulation.sink.wrong;
    wrong += simulation.sink.wrong;
    both += simulation.both_seen;
  }
  EXPECT_EQ(wrong, 0u) << "of " << both;
  return static_cast<double>(right) / both;
}

TEST(OrderedPairing, WithoutLossAllPairs) {
  EXPECT_EQ(share_of_pairs(Simulation::Client::kWaits, 0), 1);
  EXPECT_EQ(share_of_pairs(Simulation::Client::kBatches, 0), 1);
  EXPECT_EQ(share_of_pairs(Simulation::Client::kWindow, 0), 1);
}

TEST(OrderedPairing, ALossyMirrorNeverPairsWrong) {
  EXPECT_GT(share_of_pairs(Simulation::Client::kWaits, 0.01), 0.999);
  // Messages between two gaps in a batch can't be paired. After a gap, the messages of a client with a window can't be
  // paired until it pauses, and this one never pauses for long.
  EXPECT_GT(share_of_pairs(Simulation::Client::kBatches, 0.01), 0.9);
  EXPECT_GT(share_of_pairs(Simulation::Client::kWindow, 0.01), 0);
}

}  // namespace
}  // namespace tapline
