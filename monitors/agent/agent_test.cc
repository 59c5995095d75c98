// Tests the agent's output while no control plane accepts its host, and what it reports about a monitor to control
// planes of this and the previous version.
#include "monitors/agent/agent.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "monitors/messages/event_json.h"

namespace tapline {
namespace {

constexpr char kNotTaken[] = "no control plane accepts this host (127.0.0.1:1: ";

// Appends output until it contains `text` or nothing has arrived for `at_most`.
void read_until(int fd, const std::string& text, std::chrono::milliseconds at_most, std::string* all) {
  pollfd readable{fd, POLLIN, 0};
  char buffer[4096];
  while ((text.empty() || all->find(text) == std::string::npos) &&
         poll(&readable, 1, static_cast<int>(at_most.count())) > 0) {
    const ssize_t bytes_read = read(fd, buffer, sizeof buffer);
    if (bytes_read <= 0) return;
    all->append(buffer, static_cast<size_t>(bytes_read));
  }
}

// Runs an agent on this interface with control planes that don't listen. Returns its output until `text`, and for the
// given time after it.
std::string says(const std::string& interface, const std::string& text, std::chrono::milliseconds after) {
  int output_pipe[2];
  EXPECT_EQ(pipe(output_pipe), 0);
  AgentConfig config;
  config.name = "h1";
  config.interface = interface;
  config.control_plane = {"127.0.0.1:1", "127.0.0.1:2"};
  Reporter reporter(output_pipe[1], Reporter::Format::kText);
  std::atomic<bool> stop{false};
  Agent agent(config, {.credentials = grpc::InsecureChannelCredentials(), .authorization = ""}, {"http_get"}, &reporter,
              &stop);
  std::thread run([&] { EXPECT_TRUE(agent.run().ok()); });
  std::string all;
  read_until(output_pipe[0], text, std::chrono::seconds(60), &all);
  std::this_thread::sleep_for(after);
  stop = true;
  run.join();
  close(output_pipe[1]);
  read_until(output_pipe[0], "", std::chrono::seconds(1), &all);
  close(output_pipe[0]);
  return all;
}

TEST(AgentTest, ReportsOnceThatNoControlPlaneAcceptsItsHost) {
  // The agent retries a few times without another report.
  const std::string output_pipe = says("lo", kNotTaken, std::chrono::seconds(3));
  const size_t first = output_pipe.find(kNotTaken);
  EXPECT_NE(first, std::string::npos) << output_pipe;
  EXPECT_NE(output_pipe.find("; 127.0.0.1:2: "), std::string::npos) << output_pipe;
  EXPECT_EQ(output_pipe.find("no control plane", first + 1), std::string::npos) << output_pipe;
  EXPECT_EQ(output_pipe.find("interface"), std::string::npos) << output_pipe;
}

TEST(AgentTest, ReportsAMissingInterface) {
  constexpr char kMissing[] = "there is no interface 'nosuch0' on this host";
  const std::string output_pipe = says("nosuch0", kMissing, std::chrono::milliseconds(0));
  EXPECT_NE(output_pipe.find(kMissing), std::string::npos) << output_pipe;
}

// A minimal control plane, which assigns one query and records the agent's statuses.
class ControlPlane final : public v1::Registry::Service {
 public:
  explicit ControlPlane(uint32_t protocol) : protocol_(protocol) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ControlPlane() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Lease(grpc::ServerContext*,
                     grpc::ServerReaderWriter<v1::AgentCommand, v1::AgentMessage>* stream) override {
    v1::AgentMessage message;
    if (!stream->Read(&message) || message.hello().protocol() != 1) return grpc::Status::CANCELLED;
    v1::AgentCommand welcome, assign;
    welcome.mutable_welcome()->set_lease_ms(60'000);
    welcome.mutable_welcome()->set_grace_ms(60'000);
    welcome.mutable_welcome()->set_brokers("127.0.0.1:9092");
    welcome.mutable_welcome()->set_protocol(protocol_);
    stream->Write(welcome);
    assign.mutable_assign()->set_query("q");
    assign.mutable_assign()->set_epoch(1);
    if (protocol_ == 0) {
      assign.mutable_assign()->set_plan_json(R"({"format":1,"query":"q","epoch":1})");
    } else {
      assign.mutable_assign()->mutable_plan()->set_query("q");
    }
    stream->Write(assign);
    while (stream->Read(&message)) {
      const std::lock_guard lock(mutex_);
      statuses_.push_back(message.status());
      changed_.notify_all();
    }
    return grpc::Status::OK;
  }

  // Returns the statuses that have arrived.
  std::deque<v1::MonitorStatus> rest() {
    const std::lock_guard lock(mutex_);
    return std::move(statuses_);
  }

  // Waits for the next status.
  v1::MonitorStatus next() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !statuses_.empty(); }));
    if (statuses_.empty()) return {};
    v1::MonitorStatus next = std::move(statuses_.front());
    statuses_.pop_front();
    return next;
  }

 private:
  const uint32_t protocol_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::MonitorStatus> statuses_;
};

// Lines of a script that stands in for the monitor. They write the bytes of the events `ready`, `query_added` and
// `query_ended` for the query q. dd reads one command.
constexpr char kReady[] = "printf '\\032\\000' >&0\n";
constexpr char kTakeCommand[] = "dd bs=200000 count=1 of=/dev/null 2>/dev/null\n";
constexpr char kAdded[] = "printf '\\102\\003\\012\\001q' >&0\n";
constexpr char kEnded[] = "printf '\\122\\003\\012\\001q' >&0\n";
constexpr char kStay[] = "exec sleep 60\n";

class AgentAndMonitorTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs an agent with this stand-in for the monitor, connected to a control plane, while `body` runs. Returns the
  // statuses that `body` did not read.
  template <typename Body>
  std::deque<v1::MonitorStatus> with(uint32_t protocol, const std::vector<std::string>& script, const Body& body) {
    AgentConfig config;
    config.name = "h1";
    config.interface = "lo";
    config.monitor = folder_ + "/monitor";
    std::string text = "#!/bin/sh\n";
    for (const std::string& line : script) text += line;
    std::ofstream(config.monitor) << text;
    std::filesystem::permissions(config.monitor, std::filesystem::perms::owner_all);
    ControlPlane control_plane(protocol);
    config.control_plane = {control_plane.address()};
    Reporter reporter(-1, Reporter::Format::kText);
    std::atomic<bool> stop{false};
    Agent agent(config, {.credentials = grpc::InsecureChannelCredentials(), .authorization = ""}, {"http_get"},
                &reporter, &stop);
    std::thread run([&] { EXPECT_TRUE(agent.run().ok()); });
    body(&control_plane);
    stop = true;
    run.join();
    return control_plane.rest();
  }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("tapline-agent-" + std::to_string(getpid()));
};

TEST_F(AgentAndMonitorTest, EventsAreMessagesForThisVersionAndJsonForThePreviousOne) {
  for (const uint32_t protocol : {1, 0}) {
    with(protocol, {kReady, kTakeCommand, kAdded, kTakeCommand, kEnded, kStay}, [&](ControlPlane* control_plane) {
      const v1::MonitorStatus added = control_plane->next();
      EXPECT_EQ(added.has_json(), protocol == 0);
      EXPECT_EQ(event_json(added), R"({"event":"query_added","query":"q"})");
      EXPECT_EQ(added.epoch(), 1u);
    });
  }
}

TEST_F(AgentAndMonitorTest, AMonitorThatIsKilledIsReplacedAndItsQueryContinues) {
  const std::string once = "[ -e $0.once ] || { touch $0.once; kill -9 $$; }\n";
  with(1, {kReady, kTakeCommand, kAdded, once, kTakeCommand, kEnded, kStay}, [](ControlPlane* control_plane) {
    EXPECT_TRUE(control_plane->next().has_query_added());
    EXPECT_EQ(control_plane->next().monitor_ended().message(), "the monitor was killed by signal 9");
    EXPECT_TRUE(control_plane->next().has_query_added()) << "by the next monitor";
  });
}

TEST_F(AgentAndMonitorTest, TheLastStatusArrivesBeforeTheAgentEnds) {
  const auto rest = with(1, {kReady, kTakeCommand, kAdded, kTakeCommand, kEnded, kStay},
                         [](ControlPlane* control_plane) { EXPECT_TRUE(control_plane->next().has_query_added()); });
  EXPECT_TRUE(std::ranges::any_of(rest, [](const v1::MonitorStatus& status) { return status.has_query_ended(); }));
}

TEST_F(AgentAndMonitorTest, RejectsTheQueryWithTheMessageOfAMonitorThatDoesNotStart) {
  // error {message: "no eth9", kind: "user"}
  with(1, {"printf '\\072\\017\\012\\007no eth9\\022\\004user' >&0\n", "exit 1\n"}, [](ControlPlane* control_plane) {
    EXPECT_EQ(control_plane->next().error().message(), "no eth9");
    EXPECT_EQ(control_plane->next().monitor_ended().message(), "the monitor ended with exit code 1");
    const v1::MonitorStatus refused_status = control_plane->next();
    EXPECT_EQ(refused_status.query_refused().query(), "q");
    EXPECT_EQ(refused_status.query_refused().message(), "no eth9");
    EXPECT_EQ(refused_status.query_refused().kind(), "user");
    EXPECT_EQ(refused_status.epoch(), 1u);
  });
}

}  // namespace
}  // namespace tapline
