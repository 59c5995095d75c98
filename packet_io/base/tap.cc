#include "packet_io/base/tap.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tapline {
namespace {

constexpr char kForm[] = "SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE, for example sw1:eth2:arrivals=mon0";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts = {""};
  for (char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

Status check_name(const std::string& tap, std::string_view role, const std::string& name) {
  const std::string where = "the tap '" + tap + "': ";
  if (name.empty()) return Status::usage(where + "its " + std::string(role) + " has no name; expected " + kForm);
  if (name.size() <= Tap::kMaxNameBytes) return {};
  return Status::usage(where + "the name of its " + std::string(role) + " has " + std::to_string(name.size()) +
                       " bytes; the maximum is " + std::to_string(Tap::kMaxNameBytes));
}

Status parse_side(const std::string& tap, const std::string& text, TapSide* side) {
  for (TapSide tap_side : {TapSide::kArrivals, TapSide::kDepartures}) {
    if (text != name_of(tap_side)) continue;
    *side = tap_side;
    return {};
  }
  return Status::usage("the tap '" + tap + "': '" + text + "' is not a side of a queue: use arrivals or departures");
}

bool is_file(std::string_view source) {
  if (source.find('/') != std::string_view::npos) return true;
  const std::string_view file = source.substr(0, source.rfind('#'));
  constexpr std::array<std::string_view, 4> kEndings = {".pcap", ".pcapng", ".cap", ".zst"};
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) { return file.ends_with(ending); });
}

// Returns true if one of the two sources has all packets of the other.
bool overlap(const std::string& one, const std::string& other) {
  return one == other || one.starts_with(other + '#') || other.starts_with(one + '#');
}

}  // namespace

std::string_view name_of(TapSide side) {
  constexpr std::string_view kNames[] = {"", "arrivals", "departures"};
  return kNames[static_cast<size_t>(side)];
}

std::string Tap::name() const {
  if (is_marked()) return source + ":" + std::string(name_of(side));
  if (!has_switch()) return source;
  std::string name = switch_name;
  if (!port.empty()) name += ":" + port;
  if (side != TapSide::kUnknown) name += ":" + std::string(name_of(side));
  return name;
}

Status parse_tap(const std::string& text, Tap* tap) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    return Status::usage("'" + text + "' is not a tap: it does not name an interface or file; expected " + kForm);
  *tap = {};
  tap->source = text.substr(equals + 1);
  tap->file = is_file(tap->source);
  const std::vector<std::string> place = split(text.substr(0, equals), ':');
  if (place.size() > 3) return Status::usage("'" + text + "' is not a tap: it has too many ':'; expected " + kForm);
  Status status = check_name(text, "switch", tap->switch_name = place[0]);
  if (status.ok() && place.size() > 1) status = check_name(text, "port", tap->port = place[1]);
  if (status.ok() && place.size() > 2) status = parse_side(text, place[2], &tap->side);
  return status;
}

Status validate_taps(std::span<const Tap> taps) {
  if (taps.size() > kMaxTaps)
    return Status::usage("there are " + std::to_string(taps.size()) + " taps; one program reads at most " +
                         std::to_string(kMaxTaps) + ": start another program for the rest");
  for (size_t i = 0; i < taps.size(); ++i) {
    const Tap& tap = taps[i];
    for (const Tap& other_tap : taps.first(i)) {
      if (tap.has_switch() && tap.name() == other_tap.name())
        return Status::usage("the tap " + tap.name() + " is given twice, as " + other_tap.source + " and as " +
                             tap.source + "; a tap has one source");
      if (overlap(tap.source, other_tap.source))
        return Status::usage(
            tap.source + (tap.source == other_tap.source ? " is" : " and " + other_tap.source + " are") +
            " read for two taps, " + other_tap.name() + " and " + tap.name() +
            "; all packets of a source were copied at the same point, so use each source for one tap only");
    }
  }
  return {};
}

}  // namespace tapline
