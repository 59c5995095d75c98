package io.tapline.control.cli.results;

import io.tapline.compiler.Inventory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Replaces addresses with an inventory's names, or adds the names; an address without a name is
 * unchanged.
 */
public final class HostNames {
  private final Map<String, String> byAddress = new HashMap<>();
  private final Map<String, Integer> sizes = new HashMap<>();
  private final boolean withAddress;

  private HostNames(Inventory inventory, boolean withAddress) {
    this.withAddress = withAddress;
    for (String name : inventory.names()) {
      List<String> addresses = inventory.addresses(name);
      // Uses only names of single hosts, not those of networks or groups.
      if (addresses.stream().allMatch(HostNames::isHost)) {
        addresses.forEach(address -> keep(address, name, addresses.size()));
      }
    }
  }

  /** Returns an instance that shows names like "app1". */
  public static HostNames instead(Inventory inventory) {
    return new HostNames(inventory, false);
  }

  /** Returns an instance that shows names like "app1 10.20.0.21". */
  public static HostNames withInventory(Inventory inventory) {
    return new HostNames(inventory, true);
  }

  private static boolean isHost(String prefix) {
    return prefix.endsWith(prefix.contains(":") ? "/128" : "/32");
  }

  /** Keeps the most specific name: a host's own name rather than its group's. */
  private void keep(String prefix, String name, int size) {
    String address = prefix.substring(0, prefix.indexOf('/'));
    if (size < sizes.getOrDefault(address, Integer.MAX_VALUE)) {
      sizes.put(address, size);
      byAddress.put(address, name);
    }
  }

  public String of(String address) {
    String name = byAddress.get(address);
    if (name == null) {
      return address;
    }
    return withAddress ? name + " " + address : name;
  }
}
