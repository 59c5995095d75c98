#include "packet_io/base/tap.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapline {
namespace {

Tap parsed(const std::string& text) {
  Tap tap;
  const Status status = parse_tap(text, &tap);
  EXPECT_TRUE(status.ok()) << status.message();
  return tap;
}

std::string fault(const std::string& text) {
  Tap tap;
  const Status status = parse_tap(text, &tap);
  EXPECT_EQ(status.exit_code(), 2) << text;
  return status.message();
}

TEST(Tap, HasASwitchAndOptionallyAPortAndASide) {
  EXPECT_EQ(parsed("sw1=mon0"), (Tap{"sw1", "", TapSide::kUnknown, "mon0", false}));
  EXPECT_EQ(parsed("sw1:eth2=mon0"), (Tap{"sw1", "eth2", TapSide::kUnknown, "mon0", false}));
  EXPECT_EQ(parsed("sw1:2:arrivals=mon0.7"), (Tap{"sw1", "2", TapSide::kArrivals, "mon0.7", false}));
  EXPECT_EQ(parsed("sw1:2:departures=a=b"), (Tap{"sw1", "2", TapSide::kDepartures, "a=b", false}));
  EXPECT_EQ(parsed("sw1:2:departures=mon0").name(), "sw1:2:departures");
  EXPECT_EQ((Tap{.source = "eth0"}).name(), "eth0");
}

TEST(Tap, KnowsFilesByTheirNames) {
  for (const char* file : {"a.pcap", "a.pcapng", "a.cap", "a.pcap.zst", "a.pcapng#eth0", "./a", "/tmp/a#eth0"})
    EXPECT_TRUE(parsed(std::string("sw1=") + file).file) << file;
  for (const char* interface : {"eth0", "eth0.100", "veth-a@x"})
    EXPECT_FALSE(parsed(std::string("sw1=") + interface).file) << interface;
}

TEST(Tap, ErrorsHaveAReasonAndAFix) {
  const char kForm[] =
      "expected SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE, for example sw1:eth2:arrivals=mon0";
  EXPECT_EQ(fault("sw1"), std::string("'sw1' is not a tap: it does not name an interface or file; ") + kForm);
  EXPECT_EQ(fault("sw1="), std::string("'sw1=' is not a tap: it does not name an interface or file; ") + kForm);
  EXPECT_EQ(fault("=mon0"), std::string("the tap '=mon0': its switch has no name; ") + kForm);
  EXPECT_EQ(fault("sw1:=mon0"), std::string("the tap 'sw1:=mon0': its port has no name; ") + kForm);
  EXPECT_EQ(fault("a:b:arrivals:d=mon0"),
            std::string("'a:b:arrivals:d=mon0' is not a tap: it has too many ':'; ") + kForm);
  EXPECT_EQ(fault("sw1:2:in=mon0"),
            "the tap 'sw1:2:in=mon0': 'in' is not a side of a queue: use arrivals or departures");
  EXPECT_EQ(fault("a-switch-with-a-very-long-name=mon0"),
            "the tap 'a-switch-with-a-very-long-name=mon0': the name of its switch has 30 bytes; the maximum is 24");
}

std::string fault_of(const std::vector<std::string>& texts) {
  std::vector<Tap> taps;
  for (const std::string& text : texts)
    taps.push_back(text.find('=') == text.npos ? Tap{.source = text} : parsed(text));
  const Status status = validate_taps(taps);
  EXPECT_EQ(status.exit_code(), status.ok() ? 0 : 2);
  return status.message();
}

TEST(Tap, RequiresAPlaceAndASource) {
  EXPECT_EQ(fault_of({"sw1:1:arrivals=m0", "sw1:1:departures=m1", "sw1=m2", "m3"}), "");
  EXPECT_EQ(fault_of({"sw1=a.pcapng#x", "sw2=a.pcapng#y", "sw3=a.pcapng2.cap"}), "");
  EXPECT_EQ(fault_of({"sw1:1=m0", "sw1:1=m1"}), "the tap sw1:1 is given twice, as m0 and as m1; a tap has one source");
  EXPECT_EQ(fault_of({"sw1:1=m0", "sw2:1=m0"}),
            "m0 is read for two taps, sw1:1 and sw2:1; all packets of a source were copied at the same point, so "
            "use each source for one tap only");
  EXPECT_EQ(
      fault_of({"sw1:1=a.pcapng#x", "sw2:1=a.pcapng"}),
      "a.pcapng and a.pcapng#x are read for two taps, sw1:1 and sw2:1; all packets of a source were copied at the same "
      "point, so use each source for one tap only");
  EXPECT_NE(fault_of({"m0", "m0"}), "");
}

TEST(Tap, AreBounded) {
  std::vector<std::string> texts;
  for (int i = 0; i < 65; ++i) texts.push_back("sw" + std::to_string(i) + "=m" + std::to_string(i));
  EXPECT_EQ(fault_of(texts), "there are 65 taps; one program reads at most 64: start another program for the rest");
  texts.pop_back();
  EXPECT_EQ(fault_of(texts), "");
}

}  // namespace
}  // namespace tapline
