// Reads the Kafka user and password from a file that contains USER:PASSWORD.
#pragma once

#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct BrokerLogin {
  std::string user;  // empty: no login
  std::string password;

  bool operator==(const BrokerLogin&) const = default;
};

// Reads the file; does nothing if the path is empty. Errors never quote the file's content.
Status read_broker_login(const std::string& path, BrokerLogin* login);

}  // namespace tapline
