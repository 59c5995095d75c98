#include <array>
#include <cctype>
#include <charconv>

#include "monitors/config/config.h"
#include "parsers/api/flow_hash.h"

namespace tapline {
namespace {

using Strings = std::vector<std::string>;

std::string SetNumber(const std::string& text, uint32_t least, uint32_t most, uint32_t* out) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) {
    *out = number;
    return "";
  }
  return "'" + text + "' is not a number from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string SetBool(const std::string& text, bool* out) {
  if (text != "true" && text != "false") return "'" + text + "' is neither true nor false";
  *out = text == "true";
  return "";
}

std::string SetChoice(const std::string& text, std::initializer_list<std::string_view> choices, std::string* out) {
  std::string expected;
  for (std::string_view choice : choices) {
    if (text == choice) {
      *out = text;
      return "";
    }
    expected += (expected.empty() ? "" : ", ") + std::string(choice);
  }
  return "'" + text + "' is none of " + expected;
}

std::string SetMonitorId(const std::string& text, std::string* out) {
  for (char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) || letter == '-' || letter == '_' || letter == '.') continue;
    return "'" + text + "' may have letters, digits, '-', '_' and '.' only";
  }
  if (text.empty() || text.size() > 128) return "a name of 1 to 128 letters is needed";
  *out = text;
  return "";
}

std::string SetHashKey(const std::string& text, std::string* out) {
  if (!HashKey::parse(text)) return "'" + text + "' is not 32 hexadecimal digits";
  *out = text;
  return "";
}

// The keys below are made by member: how text gets in and out follows from its type.
template <auto Member>
Strings GetText(const MonitorConfig& config) {
  const auto& value = config.*Member;
  using Type = std::remove_cvref_t<decltype(value)>;
  if constexpr (std::is_same_v<Type, Strings>) {
    return value;
  } else if constexpr (std::is_same_v<Type, std::string>) {
    return {value};
  } else if constexpr (std::is_same_v<Type, bool>) {
    return {value ? "true" : "false"};
  } else {
    return {std::to_string(value)};
  }
}

template <auto Member>
void ClearValue(MonitorConfig* config) {
  config->*Member = MonitorConfig().*Member;
}

template <auto Member>
ConfigKey TextKey(std::string_view name, std::string_view argument, std::string_view help) {
  auto set = [](MonitorConfig* config, const std::string& text) {
    config->*Member = text;
    return std::string();
  };
  return {name, argument, help, false, false, set, ClearValue<Member>, GetText<Member>};
}

template <auto Member>
ConfigKey ListKey(std::string_view name, std::string_view argument, std::string_view help, bool commas) {
  auto set = [](MonitorConfig* config, const std::string& text) {
    if (text.empty()) return std::string("an empty name");
    (config->*Member).push_back(text);
    return std::string();
  };
  return {name, argument, help, true, commas, set, ClearValue<Member>, GetText<Member>};
}

template <auto Member, uint32_t Least, uint32_t Most>
ConfigKey NumberKey(std::string_view name, std::string_view help) {
  auto set = [](MonitorConfig* config, const std::string& text) {
    return SetNumber(text, Least, Most, &(config->*Member));
  };
  return {name, "N", help, false, false, set, ClearValue<Member>, GetText<Member>};
}

template <auto Member, typename Set>
ConfigKey CheckedKey(std::string_view name, std::string_view argument, std::string_view help, Set set) {
  return {name, argument, help, false, false, set, ClearValue<Member>, GetText<Member>};
}

using C = MonitorConfig;
using Text = const std::string&;

std::array<ConfigKey, 33> MakeKeys() {
  return {{
      ListKey<&C::pcap>("pcap", "FILE", "capture file (.pcap, .pcapng, each also .zst); several are merged by time",
                        false),
      TextKey<&C::interface>("interface", "IF", "network interface to listen on, through DPDK's net_af_packet"),
      TextKey<&C::vdev>("vdev", "DEV", "DPDK virtual device to read, for example net_memif0,role=client"),
      TextKey<&C::port>("port", "PCI", "PCI address of a port bound to DPDK, for example 0000:03:00.0"),
      CheckedKey<&C::speed>("speed", "max|1x", "capture files: as fast as possible, or when packets are due",
                            [](C* c, Text t) {
                              return SetChoice(t, {"max", "1x"}, &c->speed);
                            }),
      CheckedKey<&C::busy>("busy", "", "never sleep: for a core of its own",
                           [](C* c, Text t) { return SetBool(t, &c->busy); }),
      CheckedKey<&C::duplicates>("duplicates", "keep|drop", "packets that a second mirror shows again",
                                 [](C* c, Text t) {
                                   return SetChoice(t, {"keep", "drop"}, &c->duplicates);
                                 }),
      NumberKey<&C::lanes, 1, 64>("lanes", "receive queues of the port, each polled and parsed by a thread of its own"),
      ListKey<&C::workers>(
          "workers", "PARSERS[=N]",
          "pipeline mode: N threads for these parsers (NAME or NAME+NAME…), each group its own; parsers "
          "that are not named share one",
          true),
      NumberKey<&C::ring_packets, 64, 1048576>("ring_packets", "pipeline mode: packets that may wait for each worker"),
      ListKey<&C::parser>("parser", "NAME", "parser to run over all packets; repeat or separate by commas", true),
      ListKey<&C::plan>("plan", "FILE", "plan of a query (JSON); repeat for several queries", false),
      CheckedKey<&C::control>("control", "", "take queries, and end them, as lines of JSON on standard input",
                              [](C* c, Text t) { return SetBool(t, &c->control); }),
      ListKey<&C::plugin>("plugin", "FILE", "shared object with parsers outside the tree; repeat for several", false),
      CheckedKey<&C::monitor_id>("monitor_id", "ID", "this monitor's name in plans and batches",
                                 [](C* c, Text t) { return SetMonitorId(t, &c->monitor_id); }),
      CheckedKey<&C::hash_key>("hash_key", "HEX", "key of the flow hash, 32 digits, the same in the whole deployment",
                               [](C* c, Text t) { return SetHashKey(t, &c->hash_key); }),
      CheckedKey<&C::output>("output", "json|kafka|null", "tuples as lines on standard output, as batches, or nowhere",
                             [](C* c, Text t) {
                               return SetChoice(t, {"json", "kafka", "null"}, &c->output);
                             }),
      TextKey<&C::brokers>("brokers", "HOST:PORT", "Kafka brokers, separated by commas"),
      CheckedKey<&C::compression>("compression", "lz4|zstd|none", "of batches on their way to Kafka",
                                  [](C* c, Text t) {
                                    return SetChoice(t, {"lz4", "zstd", "none"}, &c->compression);
                                  }),
      NumberKey<&C::queue_mib, 1, 2047>("queue_mib", "most MiB of batches waiting for Kafka"),
      NumberKey<&C::broker_timeout_s, 1, 600>("broker_timeout_s", "how long to try to reach Kafka, in seconds"),
      NumberKey<&C::batch_rows, 1, 65536>("batch_rows", "most tuples in a batch"),
      NumberKey<&C::flush_ms, 1, 60000>("flush_ms",
                                        "longest that a tuple waits for its batch to fill, in milliseconds"),
      NumberKey<&C::heartbeat_ms, 1, 60000>("heartbeat_ms", "how often an idle query's time is told, in milliseconds"),
      CheckedKey<&C::status>("status", "text|json", "messages on standard error for people or for programs",
                             [](C* c, Text t) {
                               return SetChoice(t, {"text", "json"}, &c->status);
                             }),
      TextKey<&C::metrics>("metrics", "HOST:PORT", "where to serve Prometheus metrics, at /metrics"),
      CheckedKey<&C::supervise>("supervise", "auto|always|never",
                                "start anew when the process dies: where there are plug-ins, always, or never",
                                [](C* c, Text t) {
                                  return SetChoice(t, {"auto", "always", "never"}, &c->supervise);
                                }),
      NumberKey<&C::watchdog_ms, 50, 60000>("watchdog_ms", "how long a plug-in may take for one call, in milliseconds"),
      CheckedKey<&C::hugepages>("hugepages", "auto|never", "use hugepages where there are enough, or never",
                                [](C* c, Text t) {
                                  return SetChoice(t, {"auto", "never"}, &c->hugepages);
                                }),
      NumberKey<&C::memory_mib, 64, 1048576>("memory_mib", "MiB that DPDK may take for packet buffers"),
      NumberKey<&C::max_connections, 1024, 67108864>("max_connections", "most connections followed at a time"),
      NumberKey<&C::idle_timeout_s, 1, 604800>("idle_timeout_s", "a connection without packets for this long is over"),
      NumberKey<&C::max_reassembly_mib, 1, 65536>("max_reassembly_mib", "most MiB of stream data out of order"),
  }};
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const auto kKeys = MakeKeys();
  return kKeys;
}

const ConfigKey* FindConfigKey(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace tapline
