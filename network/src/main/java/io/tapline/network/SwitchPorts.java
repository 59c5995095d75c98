package io.tapline.network;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The switch ports that lead to other switches and to hosts. Immutable. */
public final class SwitchPorts {
  /** No switches, for a network whose ports are unknown. */
  public static final SwitchPorts NONE = new Builder().build();

  /** Stands for an unknown port number. */
  public static final int UNKNOWN = 0;

  private final Map<String, List<Port>> bySwitch;

  private SwitchPorts(Map<String, List<Port>> bySwitch) {
    this.bySwitch = bySwitch;
  }

  /**
   * A port with a link.
   *
   * @param neighbour the switch or host at the other end
   * @param number number of the port, from 1, or {@link #UNKNOWN}
   */
  public record Port(String neighbour, int number) {
    public boolean isNumbered() {
      return number != UNKNOWN;
    }

    /** Returns the name of taps at this port: its number or, if unknown, the neighbour. */
    public String tapName() {
      return isNumbered() ? String.valueOf(number) : neighbour;
    }

    /** Returns a name for users: "3 (spine2)", or "spine2". */
    @Override
    public String toString() {
      return isNumbered() ? "%d (%s)".formatted(number, neighbour) : neighbour;
    }
  }

  public boolean isEmpty() {
    return bySwitch.isEmpty();
  }

  /** Returns the names of the switches, in the order in which they were added. */
  public List<String> switches() {
    return List.copyOf(bySwitch.keySet());
  }

  /**
   * Returns the ports of a switch, in the order in which their links were added; none if there is
   * no such switch.
   */
  public List<Port> of(String name) {
    return bySwitch.getOrDefault(name, List.of());
  }

  /** Returns a port with a link, by the name of its taps. */
  public Optional<Port> find(String name, String tapName) {
    return of(name).stream().filter(port -> port.tapName().equals(tapName)).findFirst();
  }

  /**
   * Returns the port at the other end of a port's link; empty if there is no such port, if the
   * other end is a host, or if several links join these switches and the other end has no port
   * number. Such links must have been added in the order of their ports on both switches.
   */
  public Optional<Port> otherEnd(String name, String tapName) {
    Optional<Port> port = find(name, tapName);
    if (port.isEmpty() || !bySwitch.containsKey(port.get().neighbour())) {
      return Optional.empty();
    }
    List<Port> forward = between(name, port.get().neighbour());
    List<Port> reverse = between(port.get().neighbour(), name);
    int place = forward.indexOf(port.get());
    boolean sure = reverse.size() == 1 || reverse.get(place).isNumbered();
    return sure ? Optional.of(reverse.get(place)) : Optional.empty();
  }

  private List<Port> between(String name, String neighbour) {
    return of(name).stream().filter(port -> port.neighbour().equals(neighbour)).toList();
  }

  /**
   * Returns each switch's distance to the named one, in links; omits switches without a path to it.
   */
  public Map<String, Integer> distancesTo(String name) {
    Map<String, Integer> distances = new LinkedHashMap<>(Map.of(name, 0));
    Deque<String> queue = new ArrayDeque<>(List.of(name));
    while (!queue.isEmpty()) {
      String switchName = queue.remove();
      for (Port port : of(switchName)) {
        boolean exists =
            bySwitch.containsKey(port.neighbour())
                && distances.putIfAbsent(port.neighbour(), distances.get(switchName) + 1) == null;
        if (exists) {
          queue.add(port.neighbour());
        }
      }
    }
    return distances;
  }

  /** Returns the switch to which a host is connected. */
  public Optional<String> switchOf(String host) {
    return bySwitch.keySet().stream()
        .filter(name -> !bySwitch.containsKey(host))
        .filter(name -> of(name).stream().anyMatch(port -> port.neighbour().equals(host)))
        .findFirst();
  }

  /** Collects switches, links and port numbers. */
  public static final class Builder {
    private final Map<String, List<Port>> bySwitch = new LinkedHashMap<>();

    public Builder addSwitch(String name) {
      bySwitch.putIfAbsent(name, new ArrayList<>());
      return this;
    }

    /**
     * Adds a link; an end that has not been added as a switch is a host. REQUIRES: one end has been
     * added as a switch.
     */
    public Builder addLink(String one, String other) {
      addPort(one, other);
      addPort(other, one);
      return this;
    }

    private void addPort(String source, String target) {
      List<Port> ports = bySwitch.get(source);
      if (ports != null) {
        ports.add(new Port(target, UNKNOWN));
      }
    }

    /**
     * Numbers the ports of a switch that lead to a neighbour.
     *
     * @throws IllegalArgumentException if there are fewer or more such ports than numbers, or a
     *     number is in use
     */
    public Builder number(String name, String neighbour, List<Integer> numbers) {
      List<Port> ports = bySwitch.getOrDefault(name, List.of());
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < ports.size(); i++) {
        if (ports.get(i).neighbour().equals(neighbour)) {
          places.add(i);
        }
      }
      if (places.size() != numbers.size()) {
        throw new IllegalArgumentException(
            "the number of ports given (%d) differs from the number of links from %s to %s (%d)"
                .formatted(numbers.size(), name, neighbour, places.size()));
      }
      for (int i = 0; i < numbers.size(); i++) {
        int number = numbers.get(i);
        if (ports.stream().anyMatch(port -> port.number() == number)) {
          throw new IllegalArgumentException(
              "port %d of %s is given twice".formatted(number, name));
        }
        ports.set(places.get(i), new Port(neighbour, number));
      }
      return this;
    }

    public SwitchPorts build() {
      Map<String, List<Port>> copy = new LinkedHashMap<>();
      bySwitch.forEach((name, ports) -> copy.put(name, List.copyOf(ports)));
      return new SwitchPorts(copy);
    }
  }
}
