#include "packet_io/config/input_config.h"

namespace tapline {

void AddInputKeys(ConfigTable* table, InputConfig* input) {
  table->AddList(&input->pcap, "pcap", "FILE",
                 "capture file (.pcap, .pcapng, each also .zst); several are merged by time", false);
  table->AddText(&input->interface, "interface", "IF", "network interface to listen on, through DPDK's net_af_packet");
  table->AddText(&input->vdev, "vdev", "DEV", "DPDK virtual device to read, for example net_memif0,role=client");
  table->AddText(&input->port, "port", "PCI", "PCI address of a port bound to DPDK, for example 0000:03:00.0");
  table->AddChoice(&input->speed, {"max", "1x"}, "speed", "max|1x",
                   "capture files: as fast as possible, or when packets are due");
}

void AddHashKey(ConfigTable* table, std::string* file) {
  table->AddText(file, "hash_key_file", "FILE",
                 "the secret key of hashes, 32 hexadecimal digits, the same in the whole deployment; default: one "
                 "that everybody knows");
}

Status ValidateInput(const InputConfig& input) {
  const int inputs = !input.pcap.empty() + !input.interface.empty() + !input.vdev.empty() + !input.port.empty();
  if (inputs == 0) return Status::Usage("no input: name one of --pcap, --interface, --vdev or --port");
  if (inputs > 1)
    return Status::Usage("several inputs: only one of --pcap, --interface, --vdev and --port is possible");
  if (input.pcap.empty() && input.speed != "max")
    return Status::Usage("--speed " + input.speed + " is for capture files; a port has its own speed");
  return {};
}

}  // namespace tapline
