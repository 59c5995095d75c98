package io.tapline.compiler;

import io.tapline.compiler.access.AlertTopicPolicy;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.access.Scope;
import io.tapline.compiler.access.TextPolicy;
import io.tapline.compiler.access.WebhookPolicy;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.Names;
import io.tapline.network.IpPrefix;
import io.tapline.network.SwitchPorts;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The contents of an inventory file: named hosts, groups, tenants and queries, policies for strings
 * and alerts, expected traffic and the ports of switches.
 *
 * <pre>
 * hosts:
 *   h1: 10.0.2.9
 *   h2: [10.0.2.10, "2001:db8::2"]
 * groups:
 *   web: [h1, h2]
 *   branch: [10.1.0.0/16]
 * tenants:
 *   blue: 5001
 * queries:
 *   slow_pages: "PARSE http_get TO web PROCESS (top-k: by=response_time_ns)"
 * texts:
 *   http_get: {url: template}
 * webhooks: [https://alerts.example.com, "http://10.0.2.9:8080"]
 * topics: {web: [pager, "noc.*"]}
 * traffic: {packets_per_second: 2000000, groups: 50000}
 * </pre>
 */
public final class Inventory {
  private static final Inventory EMPTY =
      new Inventory(
          List.of(),
          Map.of(),
          Map.of(),
          TextPolicy.NONE,
          WebhookPolicy.NONE,
          AlertTopicPolicy.OWN,
          Optional.empty(),
          SwitchPorts.NONE);

  private final Map<String, Entry> byNormalName = new LinkedHashMap<>();
  private final Map<String, Integer> tenants;
  private final Map<String, String> queries;
  private final TextPolicy texts;
  private final WebhookPolicy webhooks;
  private final AlertTopicPolicy topics;
  private final Optional<TriggerCost.Traffic> traffic;
  private final SwitchPorts ports;

  /** A host or group: its name as spelled in the file, and its addresses. */
  record Entry(String name, List<IpPrefix> prefixes) {}

  Inventory(
      Collection<Entry> entries,
      Map<String, Integer> tenants,
      Map<String, String> queries,
      TextPolicy texts,
      WebhookPolicy webhooks,
      AlertTopicPolicy topics,
      Optional<TriggerCost.Traffic> traffic,
      SwitchPorts ports) {
    this.tenants = new LinkedHashMap<>(tenants);
    this.queries = new LinkedHashMap<>(queries);
    this.texts = texts;
    this.webhooks = webhooks;
    this.topics = topics;
    this.traffic = traffic;
    this.ports = ports;
    entries.forEach(entry -> byNormalName.put(Names.normal(entry.name()), entry));
  }

  /** Returns an inventory without names. */
  public static Inventory empty() {
    return EMPTY;
  }

  /**
   * Reads the text of an inventory file.
   *
   * @throws IllegalArgumentException if it is invalid; the message says what is wrong and where
   */
  public static Inventory fromYaml(String yaml) {
    return InventoryReader.read(yaml);
  }

  /** Returns the names of hosts and groups, sorted. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    byNormalName.values().forEach(entry -> names.add(entry.name()));
    names.sort(Comparator.naturalOrder());
    return List.copyOf(names);
  }

  /**
   * Returns the addresses of a host or group as "address/length"; empty if there is no such name.
   */
  public List<String> addresses(String name) {
    return find(name)
        .map(entry -> entry.prefixes().stream().map(IpPrefix::toString).toList())
        .orElse(List.of());
  }

  /** Returns the names of tenants, in the file's order. */
  List<String> tenants() {
    return List.copyOf(tenants.keySet());
  }

  Optional<Integer> tenant(String name) {
    return named(tenants, name);
  }

  /** Returns the names of reusable queries, in the file's order. */
  public List<String> queries() {
    return List.copyOf(queries.keySet());
  }

  /** Returns the text of a reusable query. */
  public Optional<String> query(String name) {
    return named(queries, name);
  }

  /** Returns the policy for the forms in which strings may leave monitors. */
  public TextPolicy texts() {
    return texts;
  }

  /** Returns the policy for webhooks to which alerts may be posted. */
  WebhookPolicy webhooks() {
    return webhooks;
  }

  /** Returns a monitor's expected traffic; empty if it is unknown. */
  public Optional<TriggerCost.Traffic> traffic() {
    return traffic;
  }

  /** Returns the policy for topics to which alerts may be sent. */
  AlertTopicPolicy topics() {
    return topics;
  }

  /** Returns the ports of the network's switches; none if the file has no network. */
  public SwitchPorts ports() {
    return ports;
  }

  /**
   * Returns the part of the inventory that is visible to a caller: hosts and groups whose addresses
   * are all within its scope, and the network tenant with the same name as its tenant. Other hosts,
   * groups and tenants, and all switch ports, are treated as nonexistent.
   */
  public Inventory within(Rights rights) {
    Scope scope = rights.scope();
    if (scope.isEverything()) {
      return this;
    }
    List<Entry> known =
        byNormalName.values().stream()
            .filter(entry -> entry.prefixes().stream().allMatch(scope::holds))
            .toList();
    Map<String, Integer> own = new LinkedHashMap<>(tenants);
    own.keySet().removeIf(name -> !Names.same(name, rights.tenant()));
    return new Inventory(known, own, queries, texts, webhooks, topics, traffic, SwitchPorts.NONE);
  }

  private static <T> Optional<T> named(Map<String, T> byName, String name) {
    return byName.entrySet().stream()
        .filter(entry -> Names.same(entry.getKey(), name))
        .map(Map.Entry::getValue)
        .findFirst();
  }

  Optional<Entry> find(String name) {
    return Optional.ofNullable(byNormalName.get(Names.normal(name)));
  }
}
