#include "monitors/config/broker_login_file.h"

#include <vector>

#include "packet_io/config/secret_file.h"

namespace tapline {

Status ReadBrokerLogin(const std::string& path, BrokerLogin* login) {
  if (path.empty()) return {};
  std::vector<std::string> words;
  if (Status status = ReadSecretWords("--broker-login-file", path, &words); !status.ok()) return status;
  const size_t colon = words.size() == 1 ? words[0].find(':') : std::string::npos;
  if (colon == std::string::npos || colon == 0 || colon + 1 == words[0].size())
    return Status::Invalid("--broker-login-file " + path + ": it must hold USER:PASSWORD and nothing else");
  *login = {words[0].substr(0, colon), words[0].substr(colon + 1)};
  return {};
}

}  // namespace tapline
