#include "multilog/node/local_peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tapline::multilog {
namespace {

constexpr uid_t kNobody = 65534;

// Tests with a listening socket on loopback, and connections to it.
class LocalPeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(bind(listening_, address(&address_), size), 0);
    ASSERT_EQ(listen(listening_, 4), 0);
    ASSERT_EQ(getsockname(listening_, address(&address_), &size), 0);
  }
  void TearDown() override { close(listening_); }

  static sockaddr* address(sockaddr_in* address) { return reinterpret_cast<sockaddr*>(address); }
  uint16_t port() const { return ntohs(address_.sin_port); }

  int connect() {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(client, address(&address_), sizeof address_), 0);
    return client;
  }
  // Accepts the next connection, and returns its other end in gRPC's notation.
  std::string accept(int* accepted) {
    sockaddr_in peer = {};
    socklen_t size = sizeof peer;
    *accepted = ::accept(listening_, address(&peer), &size);
    return "ipv4:127.0.0.1:" + std::to_string(ntohs(peer.sin_port));
  }

  sockaddr_in address_ = {};
  int listening_ = -1;
};

TEST_F(LocalPeerTest, FindsThisUserUntilTheSocketIsClosed) {
  const int client = connect();
  int accepted = -1;
  const std::string peer = accept(&accepted);
  EXPECT_TRUE(is_own_user(peer, port()));
  EXPECT_FALSE(is_own_user(peer, static_cast<uint16_t>(port() + 1)));
  close(client);
  EXPECT_FALSE(is_own_user(peer, port()));
  close(accepted);
}

TEST_F(LocalPeerTest, FindsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "requires root, to connect as another user";
  for (const uid_t user : {uid_t{0}, kNobody}) {
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(user) != 0) _exit(1);
      connect();
      pause();
    }
    int accepted = -1;
    const std::string peer = accept(&accepted);
    EXPECT_EQ(is_own_user(peer, port()), user == 0);
    close(accepted);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

TEST_F(LocalPeerTest, InvalidAddressesBelongToNoUser) {
  for (const char* peer :
       {"", "unix:", "ipv4:", "ipv4:127.0.0.1", "ipv4:1.2.3.4.5:80", "ipv6:%5B%5D:80", "ipv6:%5B::1%5D:1"})
    EXPECT_FALSE(is_own_user(peer, port())) << peer;
}

}  // namespace
}  // namespace tapline::multilog
