// Tests the server with real clients, with and without TLS.
#include "packet_io/metrics/metrics_server.h"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tapline {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr char kToken[] = "0123456789abcdef";

class Figures final : public prometheus::Collectable {
 public:
  explicit Figures(size_t help_bytes) : help_(help_bytes, 'x') {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    prometheus::MetricFamily family{"seven", help_, prometheus::MetricType::Gauge, {}};
    family.metric.emplace_back().gauge.value = 7;
    return {family};
  }

 private:
  const std::string help_;
};

bool shows7(const std::string& response) {
  return response.starts_with("HTTP/1.1 200 ") && response.ends_with("\nseven 7\n");
}

class MetricsServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "tapline-metrics-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    tcp::acceptor probe(network_, {asio::ip::address_v4::loopback(), 0});
    port_ = probe.local_endpoint().port();
    config_.address = "127.0.0.1:" + std::to_string(port_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Configures a self-signed certificate, its key, and a token for clients.
  void use_tls() {
    config_.certificate = folder_ + "/own.pem";
    config_.key = folder_ + "/own.key";
    config_.tokens = folder_ + "/token";
    const std::string made =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=localhost -keyout " +
        config_.key + " -out " + config_.certificate + " 2>&1";
    ASSERT_EQ(std::system((made + " >" + folder_ + "/log").c_str()), 0);
    std::ofstream(config_.tokens) << kToken << "\n";
  }
  Status start() {
    Status status;
    server_ = MetricsServer::start(config_, others_, std::make_unique<Figures>(help_bytes_), &status);
    return status;
  }

  tcp::socket connect() {
    tcp::socket socket(network_);
    socket.connect({asio::ip::address_v4::loopback(), port_});
    return socket;
  }
  template <typename Stream>
  static std::string exchange(Stream* stream, const std::string& request) {
    std::string response;
    error_code error;
    asio::write(*stream, asio::buffer(request), error);
    asio::read(*stream, asio::dynamic_buffer(response), error);
    return response;
  }
  std::string get_unencrypted(const std::string& request) {
    tcp::socket socket = connect();
    return exchange(&socket, request);
  }
  std::string get_over_tls(const std::string& request, int newest = TLS1_3_VERSION,
                           const char* ciphers = "DEFAULT@SECLEVEL=0") {
    asio::ssl::context context(asio::ssl::context::tls_client);
    // Lowers OpenSSL's own minimum, so that the server's minimum is tested.
    SSL_CTX_set_cipher_list(context.native_handle(), ciphers);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.native_handle(), newest);
    asio::ssl::stream<tcp::socket> stream(connect(), context);
    error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    return error ? "" : exchange(&stream, request);
  }
  static std::string get(const std::string& path, const std::string& token = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" +
           (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n";
  }

  asio::io_context network_;
  std::string folder_;
  uint16_t port_ = 0;
  MetricsConfig config_;
  std::vector<CertificateFile> others_;
  size_t help_bytes_ = 10;
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, ServesGetOfMetricsAndNothingElse) {
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(shows7(get_unencrypted(get("/metrics"))));
  EXPECT_TRUE(shows7(get_unencrypted(get("/metrics?name=x"))));
  for (const char* path : {"/", "/metricsx", "/metrics/", "//metrics", "http://h/metrics"})
    EXPECT_TRUE(get_unencrypted(get(path)).starts_with("HTTP/1.1 404 ")) << path;
  for (const char* method : {"POST", "PUT", "DELETE", "HEAD"}) {
    const std::string response =
        get_unencrypted(std::string(method) + " /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
    EXPECT_TRUE(response.starts_with("HTTP/1.1 405 ")) << response;
    EXPECT_NE(response.find("\r\nAllow: GET\r\n"), std::string::npos) << response;
  }
  EXPECT_EQ(get_unencrypted("nonsense\r\n\r\n"), "");
}

TEST_F(MetricsServerTest, ATokenIsRequiredOverTls) {
  use_tls();
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(shows7(get_over_tls(get("/metrics", kToken))));
  EXPECT_TRUE(shows7(get_over_tls(get("/metrics", kToken), TLS1_2_VERSION)));
  for (const std::string& request : {get("/metrics"), get("/metrics", "0123456789abcdeF"), get("/other")}) {
    const std::string response = get_over_tls(request);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 401 ")) << response;
    EXPECT_NE(response.find("\r\nWWW-Authenticate: Bearer\r\n"), std::string::npos) << response;
    EXPECT_EQ(response.find("seven"), std::string::npos);
  }
  EXPECT_TRUE(get_over_tls(get("/other", kToken)).starts_with("HTTP/1.1 404 "));
}

TEST_F(MetricsServerTest, WithACertificateOnlyTlsIsAccepted) {
  use_tls();
  ASSERT_TRUE(start().ok());
  const std::string response = get_unencrypted(get("/metrics", kToken));
  EXPECT_LT(response.size(), 8u) << "at most a TLS alert";
  EXPECT_EQ(response.find("HTTP"), std::string::npos) << response;
  EXPECT_EQ(get_over_tls(get("/metrics", kToken), TLS1_1_VERSION), "");
  EXPECT_EQ(get_over_tls(get("/metrics", kToken), TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256@SECLEVEL=0"), "");
}

TEST_F(MetricsServerTest, ShowsTheExpiryOfCertificates) {
  use_tls();
  // The earliest expiry among a chain's certificates counts.
  const std::string chain = folder_ + "/chain.pem";
  const std::string made =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=x -keyout " +
      folder_ + "/x.key -out " + folder_ + "/x.pem 2>&1 >" + folder_ + "/log && cat " + config_.certificate + " " +
      folder_ + "/x.pem >" + chain;
  ASSERT_EQ(std::system(made.c_str()), 0);
  others_ = {{"kafka", chain}, {"nothing", ""}};
  ASSERT_TRUE(start().ok()) << start().message();
  const std::string response = get_over_tls(get("/metrics", kToken));
  EXPECT_TRUE(shows7(response));
  const auto days_left = [&](const std::string& purpose) {
    const std::string name = "tapline_certificate_not_after_timestamp_seconds{purpose=\"" + purpose + "\"} ";
    const size_t position = response.find(name);
    return position == std::string::npos
               ? -1.0
               : (std::stod(response.substr(position + name.size())) - double(std::time(nullptr))) / 86400;
  };
  EXPECT_NEAR(days_left("metrics"), 2, 0.1);
  EXPECT_NEAR(days_left("kafka"), 1, 0.1);
  EXPECT_EQ(days_left("nothing"), -1);
}

TEST_F(MetricsServerTest, NamesACertificateWithoutAnExpiry) {
  others_ = {{"kafka", "/nowhere"}};
  EXPECT_EQ(start().message(), "/nowhere contains no readable PEM certificate");
}

TEST_F(MetricsServerTest, SilentClientsDelayNoOthers) {
  use_tls();
  ASSERT_TRUE(start().ok());
  std::list<tcp::socket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect());
  EXPECT_TRUE(shows7(get_over_tls(get("/metrics", kToken))));
  silent.front().non_blocking(true);
  error_code error;
  char byte;
  silent.front().receive(asio::buffer(&byte, 1), 0, error);
  EXPECT_EQ(error, asio::error::would_block) << "served while their slots were still held";
}

TEST_F(MetricsServerTest, ManySilentClientsLoseTheirSlots) {
  help_bytes_ = 8 << 20;  // more than fits into a socket's buffer
  ASSERT_TRUE(start().ok());
  const auto began = steady_clock::now();
  tcp::socket slow = connect(), deaf = connect();
  asio::write(deaf, asio::buffer(get("/metrics")));
  error_code cut;
  std::thread talks([&] {
    while (!cut && steady_clock::now() - began < std::chrono::seconds(20)) {
      asio::write(slow, asio::buffer("G", 1), cut);
      usleep(100'000);
    }
  });
  std::list<tcp::socket> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect());
  EXPECT_TRUE(shows7(get_unencrypted(get("/metrics"))));
  talks.join();
  EXPECT_TRUE(cut);
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(15));
  EXPECT_FALSE(shows7(exchange(&deaf, ""))) << "cut off before all of it was read";
}

TEST_F(MetricsServerTest, ALongRequestIsRejected) {
  ASSERT_TRUE(start().ok());
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(get_unencrypted("GET /metrics HTTP/1.1\r\nMuch: " + much + "\r\n\r\n"), "");
  EXPECT_EQ(get_unencrypted(get("/" + much)), "");
  EXPECT_TRUE(shows7(get_unencrypted(get("/metrics"))));
}

TEST_F(MetricsServerTest, ClosesAtOnceWithConnectedClients) {
  ASSERT_TRUE(start().ok());
  tcp::socket silent = connect(), slow = connect();
  asio::write(slow, asio::buffer("GET", 3));
  usleep(100'000);
  const auto began = steady_clock::now();
  server_.reset();
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(3)) << "before they would lose their slots";
}

TEST_F(MetricsServerTest, NamesAnAddressThatCannotBeUsed) {
  ASSERT_TRUE(start().ok());
  for (const std::string& address : {config_.address, std::string("127.0.0.1"), std::string(":7402"),
                                     std::string("192.0.2.1:7402"), std::string("127.0.0.1:http")}) {
    MetricsConfig second;
    second.address = address;
    Status status;
    EXPECT_EQ(MetricsServer::start(second, {}, std::make_unique<Figures>(help_bytes_), &status), nullptr) << address;
    EXPECT_EQ(status.exit_code(), 1);
    EXPECT_TRUE(status.message().starts_with("--metrics " + address + ": can't listen there")) << status.message();
  }
}

TEST_F(MetricsServerTest, NamesAnInvalidFile) {
  use_tls();
  const MetricsConfig good_config = config_;
  const auto error_with = [this, &good_config](std::string MetricsConfig::*file, const std::string& path) {
    config_ = good_config;
    config_.*file = path;
    return start().message();
  };
  EXPECT_TRUE(error_with(&MetricsConfig::certificate, "/nowhere").starts_with("--metrics-certificate /nowhere: "));
  EXPECT_TRUE(error_with(&MetricsConfig::certificate, good_config.key).starts_with("--metrics-certificate "));
  EXPECT_TRUE(error_with(&MetricsConfig::key, good_config.certificate).starts_with("--metrics-key "));
  EXPECT_TRUE(error_with(&MetricsConfig::tokens, "/nowhere").starts_with("--metrics-token-file /nowhere: "));
  ASSERT_EQ(std::system(("openssl genpkey -algorithm ed25519 -out " + folder_ + "/other.key").c_str()), 0);
  EXPECT_NE(error_with(&MetricsConfig::key, folder_ + "/other.key"), "");
  EXPECT_EQ(error_with(&MetricsConfig::key, good_config.key), "");
}

}  // namespace
}  // namespace tapline
