#include "parsers/trigger/filter_reader.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "conditions/expr/expression.h"

namespace tapline::trigger {
namespace {

using conditions::Column;
using conditions::FieldType;
using conditions::KeyRange;
using conditions::KeyRanges;
using conditions::Leaf;
using conditions::Node;

// Maximum number of values of a field for which a Filter has no ranges, such as vlan. A longer list usually comes from
// a condition that excludes values.
constexpr uint64_t kMaxListed = 4096;

struct UnsupportedFilter {
  std::string reason;
};

const conditions::Schema& fields_of_packets() {
  static const conditions::Schema schema = *conditions::Schema::make({{.name = "time_ns", .type = FieldType::kTime},
                                                                      {.name = "src_ip", .type = FieldType::kAddress},
                                                                      {.name = "dst_ip", .type = FieldType::kAddress},
                                                                      {.name = "src_port", .type = FieldType::kU16},
                                                                      {.name = "dst_port", .type = FieldType::kU16},
                                                                      {.name = "protocol", .type = FieldType::kU8},
                                                                      {.name = "vlan", .type = FieldType::kU32},
                                                                      {.name = "network_id", .type = FieldType::kU32}});
  return schema;
}

std::string_view name_of(const Column& column) {
  for (const auto& field : fields_of_packets().fields()) {
    if (field.column == column) return field.spec.name;
  }
  return "";
}

// Returns the number of leading bits that two addresses share.
int shared_bits(std::string_view a, std::string_view b) {
  int bits = 0;
  while (bits < static_cast<int>(a.size()) * 8 && ((a[bits / 8] ^ b[bits / 8]) >> (7 - bits % 8) & 1) == 0) ++bits;
  return bits;
}

bool has_only(bool ones, std::string_view bytes, int from_bit) {
  for (int bit = from_bit; bit < static_cast<int>(bytes.size()) * 8; ++bit) {
    if (((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) != ones) return false;
  }
  return true;
}

// Returns the prefix that consists of the leaf's addresses (low to high, in the format of conditions::kAddressBytes).
Prefix prefix_of(const Leaf& leaf) {
  const std::string name(name_of(leaf.column));
  if (leaf.kind != Leaf::Kind::kWide || leaf.negated || leaf.wide_mask.find_first_not_of('\xff') != std::string::npos) {
    throw UnsupportedFilter{name +
                            " can only be compared with addresses or prefixes; excluding addresses is not supported"};
  }
  const bool v4 = leaf.low[0] == 4;
  const std::string_view low = std::string_view(leaf.low).substr(1, v4 ? 4 : 16);
  const std::string_view high = std::string_view(leaf.high).substr(1, v4 ? 4 : 16);
  const int bits = shared_bits(low, high);
  if (leaf.low[0] != leaf.high[0] || !has_only(false, low, bits) || !has_only(true, high, bits)) {
    throw UnsupportedFilter{"a range of " + name + " must be a prefix"};
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(low.data());
  return {v4 ? IpAddress::v4(bytes) : IpAddress::v6(bytes), static_cast<uint8_t>(v4 ? 96 + bits : bits)};
}

KeyRanges ranges_of(const Leaf& leaf) {
  const bool is_whole = (leaf.mask & leaf.column.max_key()) == leaf.column.max_key();
  if (leaf.kind != Leaf::Kind::kKeys || !is_whole) {
    throw UnsupportedFilter{"'" + leaf.text + "' does not compare one field with values"};
  }
  return leaf.ranges;
}

// Returns the intersection of two lists: the longer prefix of each pair in which one prefix contains the other.
std::vector<Prefix> common_to(const std::vector<Prefix>& a, const std::vector<Prefix>& b) {
  std::vector<Prefix> both;
  for (const Prefix& one : a) {
    for (const Prefix& other_prefix : b) {
      const Prefix& longer = one.bits > other_prefix.bits ? one : other_prefix;
      if ((one.bits > other_prefix.bits ? other_prefix : one).contains(longer.address)) both.push_back(longer);
    }
  }
  return both;
}

// Collects the values that a condition allows in each field, from comparisons joined by AND.
class Reader {
 public:
  explicit Reader(const conditions::Expression& expression) : expression_(expression) {}

  Filter read() {
    add(expression_.root());
    Filter filter;
    filter.src = addresses("src_ip");
    filter.dst = addresses("dst_ip");
    filter.src_ports = ports("src_port");
    filter.dst_ports = ports("dst_port");
    filter.protocol = protocol();
    filter.vlans = listed("vlan");
    filter.network_ids = listed("network_id");
    return filter;
  }

 private:
  struct Allowed {
    std::string_view field;
    std::vector<Prefix> prefixes;
    KeyRanges ranges;
  };

  void add(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kTrue:
        return;
      case Node::Kind::kFalse:
        throw UnsupportedFilter{"no packet can meet it"};
      case Node::Kind::kAnd:
        for (const Node& child : node.children) add(child);
        return;
      default:
        narrow(list_of(node));
    }
  }

  const Leaf& leaf_of(const Node& node) const {
    if (node.kind != Node::Kind::kLeaf) throw UnsupportedFilter{"only values of one field may be joined by OR"};
    return expression_.leaves()[node.leaf];
  }

  // Returns the values allowed by a comparison, or by several comparisons of one field joined by OR.
  Allowed list_of(const Node& node) const {
    const std::vector<Node> alone = {node};
    const std::vector<Node>& parts = node.kind == Node::Kind::kOr ? node.children : alone;
    Allowed list = {name_of(leaf_of(parts[0]).column), {}, {}};
    for (const Node& part : parts) {
      const Leaf& leaf = leaf_of(part);
      if (name_of(leaf.column) != list.field) throw UnsupportedFilter{"only values of one field may be joined by OR"};
      if (list.field == "time_ns") throw UnsupportedFilter{"a trigger can't have a condition on time_ns"};
      if (leaf.column.type == FieldType::kAddress) {
        list.prefixes.push_back(prefix_of(leaf));
      } else {
        const KeyRanges ranges = ranges_of(leaf);
        list.ranges.insert(list.ranges.end(), ranges.begin(), ranges.end());
      }
    }
    list.ranges = conditions::union_of(std::move(list.ranges));
    return list;
  }

  void narrow(Allowed list) {
    for (Allowed& known_allowed : allowed_) {
      if (known_allowed.field != list.field) continue;
      known_allowed.prefixes = common_to(known_allowed.prefixes, list.prefixes);
      known_allowed.ranges = conditions::intersect(known_allowed.ranges, list.ranges);
      list = {};
    }
    if (!list.field.empty()) allowed_.push_back(std::move(list));
    for (const Allowed& allowed_list : allowed_) {
      if (allowed_list.prefixes.empty() && allowed_list.ranges.empty())
        throw UnsupportedFilter{"no packet can meet it"};
    }
  }

  const Allowed* find(std::string_view field) const {
    for (const Allowed& allowed_list : allowed_) {
      if (allowed_list.field == field) return &allowed_list;
    }
    return nullptr;
  }

  std::vector<Prefix> addresses(std::string_view field) const {
    const Allowed* allowed = find(field);
    return allowed == nullptr ? std::vector<Prefix>() : allowed->prefixes;
  }

  std::vector<PortRange> ports(std::string_view field) const {
    std::vector<PortRange> ports;
    const Allowed* allowed = find(field);
    if (allowed == nullptr) return ports;
    for (const KeyRange& range : allowed->ranges) {
      ports.push_back({static_cast<uint16_t>(range.low), static_cast<uint16_t>(range.high)});
    }
    return ports;
  }

  std::optional<uint8_t> protocol() const {
    const Allowed* allowed = find("protocol");
    if (allowed == nullptr) return std::nullopt;
    const KeyRange& first = allowed->ranges[0];
    if (allowed->ranges.size() != 1 || first.low != first.high)
      throw UnsupportedFilter{"protocol must be compared with a single value"};
    return static_cast<uint8_t>(first.low);
  }

  // Returns the allowed values, except 0, which the engine uses for packets without a value.
  std::vector<uint32_t> listed(std::string_view field) const {
    std::vector<uint32_t> values;
    const Allowed* allowed = find(field);
    if (allowed == nullptr) return values;
    for (const KeyRange& range : conditions::intersect(allowed->ranges, {{1, UINT32_MAX}})) {
      if (range.high - range.low >= kMaxListed - values.size()) {
        throw UnsupportedFilter{"more than 4096 values of " + std::string(field)};
      }
      for (uint64_t value = range.low; value <= range.high; ++value) values.push_back(static_cast<uint32_t>(value));
    }
    if (values.empty()) throw UnsupportedFilter{"no packet can meet it"};
    return values;
  }

  const conditions::Expression& expression_;
  std::vector<Allowed> allowed_;
};

}  // namespace

std::optional<Filter> read_filter(const v1::ConditionTree& tree, std::string* error) {
  const auto expression = conditions::Expression::compile(tree, fields_of_packets());
  if (!expression.ok()) {
    *error = expression.status().sentence();
    return std::nullopt;
  }
  try {
    return Reader(*expression).read();
  } catch (const UnsupportedFilter& unfit) {
    *error = "The monitor can't test this condition on packets: " + unfit.reason + ".";
    return std::nullopt;
  }
}

}  // namespace tapline::trigger
