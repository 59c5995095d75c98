#include "monitors/config/broker_login_file.h"

#include <vector>

#include "packet_io/config/secret_file.h"

namespace tapline {

Status read_broker_login(const std::string& path, BrokerLogin* login) {
  if (path.empty()) return {};
  std::vector<std::string> words;
  if (Status status = read_secret_words("--broker-login-file", path, &words); !status.ok()) return status;
  const size_t colon = words.size() == 1 ? words[0].find(':') : std::string::npos;
  if (colon == std::string::npos || colon == 0 || colon + 1 == words[0].size())
    return Status::invalid("--broker-login-file " + path + ": it must contain USER:PASSWORD and nothing else");
  *login = {words[0].substr(0, colon), words[0].substr(colon + 1)};
  return {};
}

}  // namespace tapline
