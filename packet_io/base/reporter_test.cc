// Tests that hostile text in messages is escaped for people, and left unchanged for programs.
#include "packet_io/base/reporter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace tapline {
namespace {

std::string written(Reporter::Format format, const auto& report) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  Reporter reporter(ends[1], format);
  report(&reporter);
  close(ends[1]);
  std::array<char, 4096> text;
  const ssize_t length = read(ends[0], text.data(), text.size());
  close(ends[0]);
  return {text.data(), static_cast<size_t>(length)};
}

TEST(Reporter, PeopleGetOneEscapedLine) {
  const auto warn = [](Reporter* reporter) { reporter->warning("no host web\u202e1\nerror: forged"); };
  EXPECT_TRUE(
      written(Reporter::Format::kText, warn).ends_with(": warning: no host web\\u{202e}1\\u{a}error: forged\n"));
  const auto fail = [](Reporter* reporter) { reporter->error(Status::invalid("\x1b[2J")); };
  EXPECT_TRUE(written(Reporter::Format::kText, fail).ends_with(": error: \\u{1b}[2J\n"));
}

TEST(Reporter, ProgramsGetTheTextUnchanged) {
  const auto warn = [](Reporter* reporter) { reporter->warning("web\u202e1"); };
  EXPECT_EQ(written(Reporter::Format::kJson, warn), "{\"event\":\"warning\",\"message\":\"web\u202e1\"}\n");
}

}  // namespace
}  // namespace tapline
