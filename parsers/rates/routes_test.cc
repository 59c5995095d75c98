#include "parsers/rates/routes.h"

#include <gtest/gtest.h>

#include <random>

namespace tapline::rates {
namespace {

constexpr uint64_t kHost = 0x020000000000;

// Two leaves (switches 1, 2) with ten hosts each and two spines (3, 4), which share the destinations.
//
//      3     4         leaf ports 1 to 10: hosts; 11: spine 3; 12: spine 4
//     / \   / \        spine port 1: leaf 1; 2: leaf 2
//    1   ×   2
Routes leaves_and_spines() {
  Routes routes;
  for (uint32_t leaf : {1u, 2u}) {
    routes.add_link(leaf, 11, 3, leaf);
    routes.add_link(leaf, 12, 4, leaf);
  }
  for (uint32_t host = 0; host < 20; ++host) {
    const uint32_t leaf = 1 + host / 10, other = 3 - leaf;
    routes.add_host(kHost + host, leaf, 1 + host % 10);
    routes.add_route(leaf, kHost + host, 1 + host % 10);
    routes.add_route(other, kHost + host, host % 2 == 0 ? 11 : 12);
    for (uint32_t spine : {3u, 4u}) routes.add_route(spine, kHost + host, leaf);
  }
  return routes;
}

TEST(Routes, PortsFollowFromTheAddresses) {
  const Routes routes = leaves_and_spines();
  // Host 2 is on leaf 1, host 15 on leaf 2, reached by spine 4.
  EXPECT_EQ(routes.output(1, kHost + 15).number, 12u);
  EXPECT_EQ(routes.input(1, kHost + 2, kHost + 15).number, 3u);
  EXPECT_EQ(routes.input(4, kHost + 2, kHost + 15).number, 1u);
  EXPECT_EQ(routes.output(4, kHost + 15).number, 2u);
  EXPECT_EQ(routes.input(2, kHost + 2, kHost + 15).number, 12u);
  EXPECT_EQ(routes.output(2, kHost + 15).number, 6u);
  EXPECT_EQ(routes.input(3, kHost + 2, kHost + 15).unknown, PortUnknown::kOffThePath);
  EXPECT_EQ(routes.input(2, kHost + 2, kHost + 3).unknown, PortUnknown::kOffThePath);
  EXPECT_EQ(routes.ports(1).size(), 12u);
  EXPECT_EQ(routes.ports(9).size(), 0u);
}

TEST(Routes, WhatIsNotKnownHasAReason) {
  Routes routes = leaves_and_spines();
  EXPECT_EQ(routes.output(1, kHost + 99).unknown, PortUnknown::kNoRoute);
  EXPECT_EQ(routes.output(1, 0xffffffffffff).unknown, PortUnknown::kAddress);
  EXPECT_EQ(routes.input(1, kHost + 99, kHost).unknown, PortUnknown::kAddress);
  routes.add_route(1, kHost + 15, 11);
  EXPECT_EQ(routes.output(1, kHost + 15).unknown, PortUnknown::kManyRoutes);
  EXPECT_EQ(routes.input(2, kHost + 2, kHost + 15).unknown, PortUnknown::kManyRoutes);
}

TEST(Routes, ACircleEnds) {
  Routes routes;
  routes.add_link(1, 1, 2, 1);
  routes.add_host(kHost, 1, 2);
  routes.add_route(1, kHost + 1, 1);
  routes.add_route(2, kHost + 1, 1);
  EXPECT_EQ(routes.input(3, kHost, kHost + 1).unknown, PortUnknown::kOffThePath);
}

// Forwards packets hop by hop: at each switch the inferred ports are those that the packet takes.
TEST(Routes, AgreesWithForwarding) {
  const Routes routes = leaves_and_spines();
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t from = kHost + random() % 20, to = kHost + random() % 20;
    if (from == to) continue;
    uint32_t at = from - kHost < 10 ? 1 : 2, in = 1 + static_cast<uint32_t>(from - kHost) % 10;
    for (int hop = 0; hop < 5 && at != 0; ++hop) {
      EXPECT_EQ(routes.input(at, from, to).number, in);
      const uint32_t out = routes.output(at, to).number;
      const bool leaf = at <= 2, up = leaf && out > 10;
      in = at;  // a spine's ports are numbered by leaf
      if (leaf && !up) {
        at = 0;  // arrived
      } else if (up) {
        at = out - 8;
      } else {
        in = 8 + at;
        at = out;
      }
    }
    EXPECT_EQ(at, 0u);
  }
}

}  // namespace
}  // namespace tapline::rates
