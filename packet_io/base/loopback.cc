#include "packet_io/base/loopback.h"

#include <arpa/inet.h>

#include <algorithm>
#include <sstream>

namespace tapline {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool is_loopback(const std::string& address) {
  for (const char* scheme : {"unix:", "unix-abstract:"}) {
    if (address.rfind(scheme, 0) == 0) return true;
  }
  const std::string host = address.substr(0, address.rfind(':'));
  in_addr parsed = {};
  return host == "localhost" || host == "[::1]" ||
         (host.rfind("127.", 0) == 0 && inet_pton(AF_INET, host.c_str(), &parsed) == 1);
}

Status check_clear(const std::vector<std::string>& clear, const std::string& service, const std::string& flag,
                   const std::string& addresses, const std::string& instead) {
  if (contains(clear, service)) return {};
  std::istringstream list(addresses);
  for (std::string address; std::getline(list, address, ',');) {
    if (is_loopback(address)) continue;
    return Status::usage(flag + " " + address + ": the address is not on loopback; it requires " + instead +
                         "; in a trusted network, --clear " + service + " permits it unencrypted");
  }
  return {};
}

std::string clear_warning(const std::string& service) {
  return service + " may be unencrypted beyond loopback (--clear): anyone on that network can read and change the data";
}

Status check_services(const std::vector<std::string>& clear, const std::vector<std::string>& known) {
  for (const std::string& service : clear) {
    if (contains(known, service)) continue;
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    return Status::usage("--clear " + service + ": unknown service (known: " + names + ")");
  }
  return {};
}

}  // namespace tapline
