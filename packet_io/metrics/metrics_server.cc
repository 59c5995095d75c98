#include "packet_io/metrics/metrics_server.h"

#include <prometheus/text_serializer.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "packet_io/base/tokens.h"

namespace tapline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int kMaxClients = 32;
constexpr uint32_t kMaxRequestBytes = 8192;
// The time limit for a client's handshake, request and response together.
constexpr std::chrono::seconds kTimeout(5);
// The pause after a failed accept(), for example for lack of descriptors.
constexpr std::chrono::milliseconds kPause(100);

using Request = http::request<http::empty_body>;

// Formats a response without Beast's serializer, which would be instantiated for two stream types and take longer to
// compile than the rest of the monitor's largest file.
std::string response(http::status status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(static_cast<unsigned>(status)) + " " +
         std::string(http::obsolete_reason(status)) + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

std::string refusal(http::status status, const std::string& reason, const std::string& headers = "") {
  return response(status, headers + "Content-Type: text/plain\r\n", reason + "\n");
}

Status load_tls(const MetricsConfig& config, asio::ssl::context* tls) {
  SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
  // Allows only ciphers with forward secrecy and authenticated encryption.
  SSL_CTX_set_cipher_list(tls->native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Clients connect rarely, so resumption would save little; renegotiation would only cost time.
  SSL_CTX_set_session_cache_mode(tls->native_handle(), SSL_SESS_CACHE_OFF);
  tls->set_options(SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Rejects encrypted keys, for which OpenSSL would otherwise ask for a password on the terminal.
  tls->set_password_callback([](size_t, asio::ssl::context::password_purpose) { return std::string(); });
  error_code error;
  tls->use_certificate_chain_file(config.certificate, error);
  if (error)
    return Status::invalid("--metrics-certificate " + config.certificate + ": contains no certificate in PEM (" +
                           error.message() + ")");
  tls->use_private_key_file(config.key, asio::ssl::context::pem, error);
  // OpenSSL would accept a key and a certificate of different types, so this checks that they match.
  if (error || SSL_CTX_check_private_key(tls->native_handle()) != 1)
    return Status::invalid("--metrics-key " + config.key +
                           ": contains no PRIVATE KEY in PEM that matches --metrics-certificate");
  return {};
}

}  // namespace

class MetricsServer::Impl {
 public:
  explicit Impl(std::unique_ptr<const prometheus::Collectable> figures) : figures_(std::move(figures)) {}

  ~Impl() {
    network_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status load(const MetricsConfig& config, const std::vector<CertificateFile>& other_files) {
    for (const CertificateFile& other_file : other_files) {
      if (Status status = add_certificate_end(other_file, &certificates_); !status.ok()) return status;
    }
    if (config.certificate.empty()) return {};
    tls_.emplace(asio::ssl::context::tls_server);
    if (Status status = load_tls(config, &*tls_); !status.ok()) return status;
    if (Status status = add_certificate_end({"metrics", config.certificate}, &certificates_); !status.ok())
      return status;
    return config.tokens.empty() ? Status() : read_tokens("--metrics-token-file", config.tokens, &tokens_);
  }

  Status listen(const std::string& address) {
    error_code error;
    bind(address, &error);
    if (!error) return {};
    return Status::resources("--metrics " + address + ": can't listen there (" + error.message() +
                             "); is the address in use, or not a HOST:PORT of this machine?");
  }

  void run() {
    // Each coroutine serves one client at a time, so their number bounds the resources that clients can use.
    for (int i = 0; i < kMaxClients; ++i) asio::co_spawn(network_, take_clients(), asio::detached);
    thread_ = std::thread([this] { network_.run(); });
  }

 private:
  void bind(const std::string& address, error_code* error) {
    const size_t colon = address.rfind(':');
    *error = asio::error::invalid_argument;
    if (colon == std::string::npos || colon == 0) return;
    std::string host = address.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const auto addresses =
        tcp::resolver(network_).resolve(host, address.substr(colon + 1), tcp::resolver::numeric_service, *error);
    if (*error) return;
    const tcp::endpoint endpoint = addresses.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), *error);
    if (!*error) acceptor_.set_option(tcp::acceptor::reuse_address(true), *error);
    if (!*error) acceptor_.bind(endpoint, *error);
    if (!*error) acceptor_.listen(kMaxClients, *error);
  }

  asio::awaitable<void> take_clients() {
    for (;;) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
      if (error) {
        asio::steady_timer pause(network_, kPause);
        co_await pause.async_wait(use_awaitable);
        continue;
      }
      try {
        co_await serve(std::move(socket));
      } catch (const std::exception&) {
        // The client has disconnected, was too slow, or used another protocol, so there is nothing to report.
      }
    }
  }

  asio::awaitable<void> serve(tcp::socket socket) {
    beast::tcp_stream stream(std::move(socket));
    stream.expires_after(kTimeout);
    if (!tls_) {
      co_await answer(stream);
      co_return;
    }
    asio::ssl::stream<beast::tcp_stream&> encrypted(stream, *tls_);
    co_await encrypted.async_handshake(asio::ssl::stream_base::server, use_awaitable);
    co_await answer(encrypted);
    co_await encrypted.async_shutdown(use_awaitable);
  }

  template <typename Stream>
  asio::awaitable<void> answer(Stream& stream) {
    std::array<char, kMaxRequestBytes> buffer;
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kMaxRequestBytes);
    size_t filled = 0;
    while (!parser.is_header_done()) {
      if (filled == buffer.size()) co_return;
      filled +=
          co_await stream.async_read_some(asio::buffer(buffer.data() + filled, buffer.size() - filled), use_awaitable);
      error_code error;
      const size_t parsed = parser.put(asio::buffer(buffer.data(), filled), error);
      if (error && error != http::error::need_more) co_return;
      std::memmove(buffer.data(), buffer.data() + parsed, filled - parsed);
      filled -= parsed;
    }
    const std::string response = answer_to(parser.get());
    co_await asio::async_write(stream, asio::buffer(response), use_awaitable);
  }

  std::string answer_to(const Request& request) const {
    if (!tokens_.empty() && !has_token(tokens_, std::string(request[http::field::authorization])))
      return refusal(http::status::unauthorized, "a token is required: Authorization: Bearer TOKEN",
                     "WWW-Authenticate: Bearer\r\n");
    const std::string target(request.target());
    if (target.substr(0, target.find('?')) != "/metrics")
      return refusal(http::status::not_found, "only /metrics exists");
    if (request.method() != http::verb::get)
      return refusal(http::status::method_not_allowed, "only GET is allowed", "Allow: GET\r\n");
    std::vector<prometheus::MetricFamily> families = figures_->Collect();
    if (!certificates_.metric.empty()) families.insert(families.begin(), certificates_);
    return response(http::status::ok, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
                    prometheus::TextSerializer().Serialize(families));
  }

  const std::unique_ptr<const prometheus::Collectable> figures_;
  prometheus::MetricFamily certificates_ = certificate_ends();
  std::vector<std::string> tokens_;
  std::optional<asio::ssl::context> tls_;
  asio::io_context network_{1};
  tcp::acceptor acceptor_{network_};
  std::thread thread_;
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

std::unique_ptr<MetricsServer> MetricsServer::start(const MetricsConfig& config,
                                                    const std::vector<CertificateFile>& other_files,
                                                    std::unique_ptr<const prometheus::Collectable> figures,
                                                    Status* status) {
  auto impl = std::make_unique<Impl>(std::move(figures));
  *status = impl->load(config, other_files);
  if (status->ok()) *status = impl->listen(config.address);
  if (!status->ok()) return nullptr;
  impl->run();
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

}  // namespace tapline
