package io.tapline.compiler;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import io.tapline.compiler.access.AlertTopicPolicy;
import io.tapline.compiler.access.TextPolicy;
import io.tapline.compiler.access.WebhookPolicy;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.Names;
import io.tapline.network.IpPrefix;
import io.tapline.network.SwitchPorts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads an inventory file. */
final class InventoryReader {
  private static final YAMLMapper MAPPER =
      YAMLMapper.builder().enable(YAMLParser.Feature.EMPTY_STRING_AS_NULL).build();
  private static final List<String> SECTIONS =
      List.of(
          "hosts",
          "groups",
          "tenants",
          "queries",
          "texts",
          "webhooks",
          "topics",
          "traffic",
          "network");
  private static final String NAME = "[\\p{L}\\p{N}_.]+(-[\\p{L}\\p{N}_.]+)*";

  private final Map<String, List<IpPrefix>> entries = new LinkedHashMap<>();
  private final Map<String, String> spellings = new LinkedHashMap<>();
  private final Map<String, Integer> tenants = new LinkedHashMap<>();
  private final Map<String, String> queries = new LinkedHashMap<>();

  private InventoryReader() {}

  static Inventory read(String yaml) {
    JsonNode root = parse(yaml);
    if (root.isMissingNode() || root.isNull()) {
      return Inventory.empty();
    }
    require(
        root.isObject(),
        "",
        "must be a map of sections: hosts, groups, tenants, queries, texts, webhooks, topics, traffic and network");
    for (Map.Entry<String, JsonNode> section : root.properties()) {
      String nearest = Names.nearest(section.getKey(), SECTIONS);
      String hint = nearest.isEmpty() ? "" : "; did you mean " + nearest + "?";
      require(SECTIONS.contains(section.getKey()), section.getKey(), "unknown section" + hint);
    }
    InventoryReader reader = new InventoryReader();
    reader.section("hosts", root.path("hosts"));
    reader.section("groups", root.path("groups"));
    reader.tenants(root.path("tenants"));
    reader.queries(root.path("queries"));
    TextPolicy texts = TextPolicy.read(root.path("texts"));
    WebhookPolicy webhooks = WebhookPolicy.read(root.path("webhooks"));
    AlertTopicPolicy topics = AlertTopicPolicy.read(root.path("topics"));
    Optional<TriggerCost.Traffic> traffic = traffic(root.path("traffic"));
    List<Inventory.Entry> entries = new ArrayList<>();
    reader.entries.forEach((name, prefixes) -> entries.add(new Inventory.Entry(name, prefixes)));
    SwitchPorts ports = SwitchPortReader.read(root.path("network"));
    return new Inventory(
        entries, reader.tenants, reader.queries, texts, webhooks, topics, traffic, ports);
  }

  private static Optional<TriggerCost.Traffic> traffic(JsonNode section) {
    if (section.isMissingNode() || section.isNull()) {
      return Optional.empty();
    }
    JsonNode rate = section.path("packets_per_second");
    JsonNode groups = section.path("groups");
    require(
        section.isObject() && rate.isNumber() && rate.asDouble() > 0,
        "traffic",
        "must have packets_per_second, a number above 0");
    require(
        groups.isMissingNode() || groups.isIntegralNumber() && groups.asLong() >= 0,
        "traffic",
        "groups must be a whole number");
    require(
        section.size() == (groups.isMissingNode() ? 1 : 2),
        "traffic",
        "must have no keys other than packets_per_second and groups");
    long max = Math.min(groups.asLong(TriggerCost.MAX_GROUPS), TriggerCost.MAX_GROUPS);
    return Optional.of(new TriggerCost.Traffic(rate.asDouble(), max));
  }

  private static JsonNode parse(String yaml) {
    try {
      return MAPPER.readTree(yaml);
    } catch (JsonProcessingException e) {
      String place =
          e.getLocation() == null
              ? ""
              : ", line %d column %d"
                  .formatted(e.getLocation().getLineNr(), e.getLocation().getColumnNr());
      String message = e.getOriginalMessage().lines().findFirst().orElse("not YAML");
      throw new IllegalArgumentException("inventory%s: not YAML: %s".formatted(place, message), e);
    }
  }

  private void section(String section, JsonNode node) {
    require(
        node.isMissingNode() || node.isNull() || node.isObject(),
        section,
        "must map names to addresses");
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      String where = section + "." + entry.getKey();
      checkName(entry.getKey(), where);
      boolean group = section.equals("groups");
      List<IpPrefix> prefixes = prefixes(entry.getValue(), where, group);
      require(!prefixes.isEmpty(), where, group ? "needs a member" : "needs an address");
      entries.put(entry.getKey(), prefixes);
    }
  }

  private void tenants(JsonNode node) {
    requireMap(node, "tenants", "must map names to numbers");
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      String where = "tenants." + entry.getKey();
      requireName(entry.getKey(), where);
      boolean valid = entry.getValue().isInt() && NetworkReader.isTenant(entry.getValue().asInt());
      require(valid, where, "must be a number from 1 to " + NetworkReader.LAST_TENANT);
      tenants.put(entry.getKey(), entry.getValue().asInt());
    }
  }

  private void queries(JsonNode node) {
    requireMap(node, "queries", "must map names to queries");
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      String where = "queries." + entry.getKey();
      requireName(entry.getKey(), where);
      require(entry.getValue().isTextual(), where, "must be a query");
      queries.put(entry.getKey(), entry.getValue().asText());
    }
  }

  private static void requireMap(JsonNode node, String where, String error) {
    require(node.isMissingNode() || node.isNull() || node.isObject(), where, error);
  }

  private static void requireName(String name, String where) {
    require(
        name.matches(NAME),
        where,
        "is not a valid name: use letters, digits, '.', '_' and single '-'");
  }

  private void checkName(String name, String where) {
    require(
        name.matches(NAME),
        where,
        "is not a valid name: use letters, digits, '.', '_' and single '-'");
    boolean isAddress =
        IpPrefix.parse(name).isPresent() || MatchReader.FOUR_NUMBERS.matcher(name).matches();
    require(!isAddress, where, "is an address, not a name");
    String previousText = spellings.putIfAbsent(Names.normal(name), name);
    require(previousText == null, where, "is the same name as " + previousText);
  }

  private List<IpPrefix> prefixes(JsonNode node, String where, boolean group) {
    Set<IpPrefix> prefixes = new LinkedHashSet<>();
    List<JsonNode> values = new ArrayList<>();
    if (node.isArray()) {
      node.forEach(values::add);
    } else {
      values.add(node);
    }
    for (JsonNode value : values) {
      require(value.isTextual(), where, "must be an address or a list of them");
      prefixes.addAll(
          group ? member(value.asText(), where) : List.of(hostAddress(value.asText(), where)));
    }
    return List.copyOf(prefixes);
  }

  private static IpPrefix hostAddress(String text, String where) {
    Optional<IpPrefix> address = IpPrefix.parse(text);
    require(address.isPresent(), where, "'%s' is not an IPv4 or IPv6 address".formatted(text));
    return address.get();
  }

  /**
   * Resolves a group's member: the name of a host or of an earlier group, an address, or a prefix.
   */
  private List<IpPrefix> member(String text, String where) {
    int slash = text.indexOf('/');
    Optional<IpPrefix> address = IpPrefix.parse(slash < 0 ? text : text.substring(0, slash));
    if (address.isPresent() && slash >= 0) {
      return List.of(withLength(address.get(), text.substring(slash + 1), text, where));
    } else if (address.isPresent()) {
      return List.of(address.get());
    }
    String host = spellings.get(Names.normal(text));
    if (host == null || !entries.containsKey(host)) {
      String nearest = Names.nearest(text, entries.keySet());
      String hint = nearest.isEmpty() ? "" : "; did you mean " + nearest + "?";
      require(
          false,
          where,
          "'%s' is neither an address nor a host or earlier group of this file%s"
              .formatted(text, hint));
    }
    return entries.get(host);
  }

  private static IpPrefix withLength(IpPrefix address, String digits, String text, String where) {
    boolean isNumber =
        digits.matches("[0-9]{1,3}") && Integer.parseInt(digits) <= address.longest();
    require(
        isNumber,
        where,
        "the prefix length of '%s' must be 0 to %d".formatted(text, address.longest()));
    IpPrefix prefix = address.shortened(Integer.parseInt(digits));
    boolean exact = prefix.addressText().equals(address.addressText());
    require(exact, where, "'%s' has bits beyond its length; write %s".formatted(text, prefix));
    return prefix;
  }

  private static void require(boolean valid, String where, String error) {
    if (!valid) {
      String place = where.isEmpty() ? "" : ", " + where;
      throw new IllegalArgumentException("inventory%s: %s".formatted(place, error));
    }
  }
}
