// Which addresses nothing leaves this host by. What other hosts reach goes with TLS, or with an operator's word that
// the network between is his own.
#pragma once

#include <string>
#include <vector>

#include "packet_io/base/status.h"

namespace tapline {

// Of HOST:PORT, or of a socket file (unix:PATH). By what is written: what another name leads to may change.
bool IsLoopback(const std::string& address);

// kUsage where one of HOST:PORT,HOST:PORT is beyond loopback: `flag` has them, `instead` makes it right. Nothing if
// the service is among those that may be spoken to in the clear.
Status CheckClear(const std::vector<std::string>& clear, const std::string& service, const std::string& flag,
                  const std::string& addresses, const std::string& instead);

// What to tell at start of each service that is.
std::string ClearWarning(const std::string& service);

// What is wrong with such a list, for a program that has these services.
Status CheckServices(const std::vector<std::string>& clear, const std::vector<std::string>& known);

}  // namespace tapline
