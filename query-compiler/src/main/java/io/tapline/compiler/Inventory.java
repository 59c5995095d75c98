package io.tapline.compiler;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Names of hosts and groups, as an inventory file gives them:
 *
 * <pre>
 * hosts:
 *   h1: 10.0.2.9
 *   h2: [10.0.2.10, "2001:db8::2"]
 * groups:
 *   web: [h1, h2]
 *   branch: [10.1.0.0/16]
 * </pre>
 */
public final class Inventory {
  private static final Inventory EMPTY = new Inventory(Map.of());

  private final Map<String, Entry> byNormalName = new LinkedHashMap<>();

  /** A host or group: its name as the file spells it, and its addresses. */
  record Entry(String name, List<IpPrefix> prefixes) {}

  Inventory(Map<String, List<IpPrefix>> entries) {
    entries.forEach(
        (name, prefixes) -> byNormalName.put(Names.normal(name), new Entry(name, prefixes)));
  }

  /** Knows no names. */
  public static Inventory empty() {
    return EMPTY;
  }

  /**
   * Reads the text of an inventory file.
   *
   * @throws IllegalArgumentException if it is not one; the message says what is wrong and where
   */
  public static Inventory fromYaml(String yaml) {
    return InventoryReader.read(yaml);
  }

  /** Hosts and groups, sorted. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    byNormalName.values().forEach(entry -> names.add(entry.name()));
    names.sort(Comparator.naturalOrder());
    return List.copyOf(names);
  }

  /** The addresses of a host or group as "address/length"; empty if there is no such name. */
  public List<String> addresses(String name) {
    return find(name)
        .map(entry -> entry.prefixes().stream().map(IpPrefix::toString).toList())
        .orElse(List.of());
  }

  Optional<Entry> find(String name) {
    return Optional.ofNullable(byNormalName.get(Names.normal(name)));
  }
}
