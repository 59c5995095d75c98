// A user at Kafka and its password, from a file: USER:PASSWORD.
#pragma once

#include <string>

#include "packet_io/base/status.h"

namespace tapline {

struct BrokerLogin {
  std::string user;  // Empty: no login.
  std::string password;

  bool operator==(const BrokerLogin&) const = default;
};

// Without a path there is no login. Errors do not repeat what the file holds.
Status ReadBrokerLogin(const std::string& path, BrokerLogin* login);

}  // namespace tapline
