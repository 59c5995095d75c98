#include "packet_io/config/input_config.h"

#include <algorithm>

namespace tapline {
namespace {

// Returns the taps on capture files and interfaces. Omits --tap arguments that can't be parsed; they are rejected when
// they are set.
std::vector<Tap> named_taps(const InputConfig& input) {
  std::vector<Tap> taps;
  for (const std::string& file : input.pcap) taps.push_back({.source = file, .file = true});
  if (!input.interface.empty()) taps.push_back({.source = input.interface});
  for (const std::string& text : input.tap) {
    if (Tap tap; parse_tap(text, &tap).ok()) taps.push_back(std::move(tap));
  }
  return taps;
}

std::vector<std::string> sources_of(const InputConfig& input, bool files) {
  std::vector<std::string> sources;
  for (const Tap& tap : named_taps(input)) {
    if (tap.file == files) sources.push_back(tap.source);
  }
  return sources;
}

}  // namespace

void add_input_keys(ConfigTable* table, InputConfig* input) {
  table->add_list(&input->pcap, "pcap", "FILE",
                  "capture file (.pcap, .pcapng, each also .zst); several are merged by time; FILE#INTERFACE: one "
                  "interface of a pcapng",
                  false);
  table->add_text(&input->interface, "interface", "IF", "network interface to listen on, through DPDK's net_af_packet");
  add_tap_key(table, &input->tap);
  table->add_text(&input->vdev, "vdev", "DEV", "DPDK virtual device to read, for example net_memif0,role=client");
  table->add_text(&input->port, "port", "PCI", "PCI address of a port bound to DPDK, for example 0000:03:00.0");
  table->add_choice(&input->speed, {"max", "1x"}, "speed", "max|1x",
                    "capture files: as fast as possible, or when packets are due");
  table->add_number(&input->merge_bound_us, 0, 60'000'000, "merge_bound_us",
                    "with several taps: how long a packet waits for earlier ones of other taps, in microseconds");
}

void add_tap_key(ConfigTable* table, std::vector<std::string>* tap) {
  const auto check = [](const std::string& text) {
    Tap parsed;
    return parse_tap(text, &parsed).message();
  };
  table->add_list(
      tap, "tap", "TAP",
      "SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE: copies made at this switch, port and side of its "
      "queue; repeat for several",
      false, check);
}

void add_hash_key(ConfigTable* table, std::string* file) {
  table->add_text(file, "hash_key_file", "FILE",
                  "file with the secret hash key, 32 hexadecimal digits, the same in the whole deployment; default: a "
                  "well-known key");
}

std::vector<Tap> taps_of(const InputConfig& input) {
  if (!input.vdev.empty()) return {{.source = input.vdev}};
  if (!input.port.empty()) return {{.source = input.port}};
  return named_taps(input);
}

std::vector<std::string> files_of(const InputConfig& input) { return sources_of(input, true); }
std::vector<std::string> interfaces_of(const InputConfig& input) { return sources_of(input, false); }

Status validate_input(const InputConfig& input) {
  const bool files = !files_of(input).empty();
  const bool interfaces = !interfaces_of(input).empty();
  const int inputs = files + interfaces + !input.vdev.empty() + !input.port.empty();
  if (inputs == 0) return Status::usage("no input: name one of --pcap, --interface, --tap, --vdev or --port");
  if (inputs > 1)
    return Status::usage(
        "several inputs: use only one of capture files, interfaces, --vdev and --port; a --tap file must end in "
        ".pcap, .pcapng, .cap or .zst, or be given with its folder (./NAME); otherwise it is an interface");
  if (!files && input.speed != "max") return Status::usage("--speed " + input.speed + " applies only to capture files");
  return validate_taps(named_taps(input));
}

}  // namespace tapline
