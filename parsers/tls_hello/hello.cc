#include "parsers/tls_hello/hello.h"

#include <algorithm>
#include <cstring>

namespace tapline::tls {
namespace {

constexpr size_t kRandomBytes = 32;
// The random value of a HelloRetryRequest (RFC 8446 section 4.1.3).
constexpr uint8_t kRetryRandom[kRandomBytes] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                                0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                                0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

// Reads the fields of a message from front to back. Once a field is missing, all later ones are missing, too.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  Bytes take(size_t bytes) {
    if (bytes > bytes_.size()) {
      failed_ = true;
      bytes_ = {};
      return {};
    }
    const Bytes taken_bytes = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken_bytes;
  }
  uint16_t number() {
    const Bytes bytes = take(2);
    return bytes.empty() ? uint16_t{0} : big_endian_16(bytes.data());
  }
  Bytes with_length_8() {
    const Bytes length = take(1);
    return length.empty() ? Bytes() : take(length[0]);
  }
  Bytes with_length_16() { return take(number()); }
  bool empty() const { return bytes_.empty(); }
  bool failed() const { return failed_; }

 private:
  Bytes bytes_;
  bool failed_ = false;
};

bool is_version(uint16_t version) { return version >> 8 == 3 && (version & 0xff) <= 4; }

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Returns the first host name of the list (RFC 6066 section 3).
std::string_view host_name(Bytes content) {
  Cursor list(Cursor(content).with_length_16());
  while (!list.empty()) {
    const Bytes type = list.take(1);
    const Bytes name = list.with_length_16();
    if (!list.failed() && type[0] == 0) return text(name);
  }
  return {};
}

void note(uint16_t type, Bytes content, ClientHello* hello) {
  Cursor cursor(content);
  switch (type) {
    case extension::kServerName:
      hello->has_server_name = true;
      hello->server_name = host_name(content);
      return;
    case extension::kAlpn:
      hello->has_protocols = true;
      hello->protocols = cursor.with_length_16();
      return;
    case extension::kSignatureAlgorithms:
      hello->signature_algorithms = Numbers(cursor.with_length_16());
      return;
    case extension::kSupportedVersions:
      hello->supported_versions = Numbers(cursor.with_length_8());
      return;
    default:
      return;
  }
}

void note(uint16_t type, Bytes content, ServerHello* hello) {
  if (type == extension::kSupportedVersions && content.size() == 2) hello->version = big_endian_16(content.data());
  if (type != extension::kAlpn) return;
  for_each_protocol(Cursor(content).with_length_16(), [hello](std::string_view name) { hello->protocol = name; });
}

bool is_draft_13(uint16_t version) { return version >> 8 == 0x7f; }

}  // namespace

uint16_t ClientHello::version() const {
  uint16_t highest = 0;
  for (size_t i = 0; i < supported_versions.size(); ++i) {
    if (!is_grease(supported_versions[i])) highest = std::max(highest, supported_versions[i]);
  }
  return supported_versions.size() > 0 ? highest : legacy_version;
}

bool read(Bytes body, ClientHello* hello) {
  *hello = {};
  Cursor cursor(body);
  hello->legacy_version = cursor.number();
  cursor.take(kRandomBytes);
  const Bytes session = cursor.with_length_8();
  const Bytes cipher_suites = cursor.with_length_16();
  const Bytes compression = cursor.with_length_8();
  if (!cursor.empty()) hello->extensions = cursor.with_length_16();
  if (cursor.failed() || !cursor.empty() || !is_version(hello->legacy_version)) return false;
  if (session.size() > 32 || cipher_suites.size() % 2 != 0 || compression.empty()) return false;
  hello->cipher_suites = Numbers(cipher_suites);
  return for_each_extension(hello->extensions, [&](uint16_t type, Bytes content) { note(type, content, hello); });
}

bool read(Bytes body, ServerHello* hello) {
  *hello = {};
  Cursor cursor(body);
  hello->version = cursor.number();
  // Drafts of TLS 1.3 before draft 22 have their version in this field, and omit the session ID and the compression
  // method.
  const bool early_draft = is_draft_13(hello->version) || hello->version == kTls13;
  const Bytes random = cursor.take(kRandomBytes);
  const Bytes session = early_draft ? Bytes() : cursor.with_length_8();
  hello->cipher_suite = cursor.number();
  if (!early_draft) cursor.take(1);
  const Bytes extensions = cursor.empty() ? Bytes() : cursor.with_length_16();
  if (cursor.failed() || !cursor.empty() || session.size() > 32) return false;
  if (!early_draft && !is_version(hello->version)) return false;
  hello->is_retry = std::memcmp(random.data(), kRetryRandom, kRandomBytes) == 0;
  return for_each_extension(extensions, [&](uint16_t type, Bytes content) { note(type, content, hello); });
}

std::string_view name_of_version(uint16_t version) {
  if (is_draft_13(version)) return "1.3";
  switch (version) {
    case kTls13:
      return "1.3";
    case 0x0303:
      return "1.2";
    case 0x0302:
      return "1.1";
    case 0x0301:
      return "1.0";
    case 0x0300:
      return "ssl3";
    default:
      return "";
  }
}

}  // namespace tapline::tls
