#include "multilog/node/local_peer.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace tapline::multilog {
namespace {

// Formats an address as in the kernel's socket tables: words of four bytes, in this machine's byte order.
std::string proc_words(const void* address, size_t words) {
  std::string text;
  for (size_t i = 0; i < words; ++i) {
    char hex[9];
    std::snprintf(hex, sizeof hex, "%08X", static_cast<const uint32_t*>(address)[i]);
    text += hex;
  }
  return text;
}

// The prefix of an IPv4 address in an IPv6 socket's entry.
const std::string kMapped = "0000000000000000FFFF0000";

std::string port_in_table(unsigned long port) {
  char text[6];
  std::snprintf(text, sizeof text, ":%04X", static_cast<unsigned>(port & 0xFFFF));
  return text;
}

// Returns "0100007F" for "127.0.0.1", or an empty string if the argument is not an address.
std::string host_in_table(std::string host) {
  if (host.rfind("%5B", 0) == 0 && host.size() > 6) host = host.substr(3, host.size() - 6);
  uint32_t words[4];
  if (inet_pton(AF_INET, host.c_str(), words) == 1) return proc_words(words, 1);
  return inet_pton(AF_INET6, host.c_str(), words) == 1 ? proc_words(words, 4) : "";
}

bool is_own(unsigned user) {
  const char* sudo = geteuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
  return user == 0 || user == geteuid() || (sudo != nullptr && std::to_string(user) == sudo);
}

}  // namespace

bool is_own_user(const std::string& peer, uint16_t port) {
  const size_t scheme = peer.find(':'), colon = peer.rfind(':');
  if (scheme == std::string::npos || scheme == colon) return false;
  const std::string host = host_in_table(peer.substr(scheme + 1, colon - scheme - 1));
  if (host.empty()) return false;
  const std::string local = host + port_in_table(std::strtoul(peer.c_str() + colon + 1, nullptr, 10));
  const std::string to_port = port_in_table(port);
  bool accepted = false;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      char name[64], to[64];
      unsigned user = 0;
      unsigned long inode = 0;
      if (std::sscanf(line.c_str(), " %*s %63s %63s %*s %*s %*s %*s %u %*s %lu", name, to, &user, &inode) != 4)
        continue;
      const bool is_it = (local == name || kMapped + local == name) && std::string(to).ends_with(to_port);
      if (!is_it || inode == 0) continue;
      if (!is_own(user)) return false;
      accepted = true;
    }
  }
  return accepted;
}

}  // namespace tapline::multilog
