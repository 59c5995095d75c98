#include "parsers/tls_hello/ja4.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

namespace tapline::tls {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr size_t kHashCharacters = 12;

std::string_view version_code(uint16_t version) {
  switch (version) {
    case 0x0304:
      return "13";
    case 0x0303:
      return "12";
    case 0x0302:
      return "11";
    case 0x0301:
      return "10";
    case 0x0300:
      return "s3";
    default:
      return "00";
  }
}

void append_hex(uint16_t number, std::string* text) {
  for (int shift = 12; shift >= 0; shift -= 4) text->push_back(kHex[number >> shift & 0xf]);
}

void append_item(uint16_t number, char separator, std::string* text) {
  if (!text->empty()) text->push_back(separator);
  append_hex(number, text);
}

bool is_alphanumeric(uint8_t c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string_view Ja4::of(const ClientHello& hello) {
  ciphers_.clear();
  for (size_t i = 0; i < hello.cipher_suites.size(); ++i) {
    if (!is_grease(hello.cipher_suites[i])) ciphers_.push_back(hello.cipher_suites[i]);
  }
  extensions_.clear();
  for_each_extension(hello.extensions, [this](uint16_t type, Bytes) {
    if (!is_grease(type)) extensions_.push_back(type);
  });

  fingerprint_.clear();
  fingerprint_ += 't';
  fingerprint_ += version_code(hello.version());
  fingerprint_ += hello.has_server_name ? 'd' : 'i';
  add_count(ciphers_.size());
  add_count(extensions_.size());
  add_protocol(hello);

  list(&ciphers_);
  add_hash_of_list();
  std::erase_if(extensions_, [](uint16_t type) { return type == extension::kServerName || type == extension::kAlpn; });
  list(&extensions_);
  char separator = '_';
  for (size_t i = 0; i < hello.signature_algorithms.size() && !extensions_.empty(); ++i) {
    const uint16_t algorithm = hello.signature_algorithms[i];
    if (!is_grease(algorithm)) append_item(algorithm, std::exchange(separator, ','), &list_);
  }
  add_hash_of_list();
  return fingerprint_;
}

void Ja4::add_count(size_t count) {
  count = std::min<size_t>(count, 99);
  fingerprint_.push_back(static_cast<char>('0' + count / 10));
  fingerprint_.push_back(static_cast<char>('0' + count % 10));
}

// Adds the first and last character of the first protocol or, unless both are alphanumeric, the first and last digit of
// its bytes in hexadecimal.
void Ja4::add_protocol(const ClientHello& hello) {
  const size_t bytes = hello.protocols.empty() ? 0 : hello.protocols[0];
  if (bytes == 0 || bytes >= hello.protocols.size()) {
    fingerprint_ += "00";
    return;
  }
  const uint8_t first = hello.protocols[1], last = hello.protocols[bytes];
  const bool is_plain = is_alphanumeric(first) && is_alphanumeric(last);
  fingerprint_.push_back(is_plain ? static_cast<char>(first) : kHex[first >> 4]);
  fingerprint_.push_back(is_plain ? static_cast<char>(last) : kHex[last & 0xf]);
}

void Ja4::list(std::vector<uint16_t>* numbers) {
  std::sort(numbers->begin(), numbers->end());
  list_.clear();
  for (const uint16_t number : *numbers) append_item(number, ',', &list_);
}

void Ja4::add_hash_of_list() {
  fingerprint_.push_back('_');
  if (list_.empty()) {
    fingerprint_.append(kHashCharacters, '0');
    return;
  }
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(list_.data()), list_.size(), digest);
  for (size_t i = 0; i < kHashCharacters / 2; ++i) {
    fingerprint_.push_back(kHex[digest[i] >> 4]);
    fingerprint_.push_back(kHex[digest[i] & 0xf]);
  }
}

}  // namespace tapline::tls
