#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parsers/tls_hello/hello.h"

namespace tapline::tls {

// The JA4 fingerprint of a TLS client (FoxIO, "JA4: TLS Client Fingerprinting", technical_details/JA4.md; BSD licence).
// The rest of the JA4+ family, which is under another licence, is not implemented. Keeps its memory between hellos.
class Ja4 {
 public:
  // Returns 36 characters, valid until the next call.
  std::string_view of(const ClientHello& hello);

 private:
  void add_count(size_t count);
  void add_protocol(const ClientHello& hello);
  void add_hash_of_list();
  void list(std::vector<uint16_t>* numbers);

  std::vector<uint16_t> ciphers_, extensions_;
  std::string list_;
  std::string fingerprint_;
};

}  // namespace tapline::tls
