package io.tapline.compiler.taps;

import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.network.SwitchPorts;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Resolves port names using a network's links: SWITCH:NEIGHBOUR and SWITCH:NUMBER become the names
 * that taps use. Without a network, all names stay unchanged.
 */
public final class PortNames {
  private final SwitchPorts ports;

  public PortNames(SwitchPorts ports) {
    this.ports = ports;
  }

  /** The result of resolving a name: a port or a problem. */
  public sealed interface Result {}

  /** A port under the name that its taps use. */
  public record Port(String switchName, String port) implements Result {}

  /** The part of a name that is wrong. */
  public enum Part {
    SWITCH,
    PORT,
    BOTH
  }

  /**
   * A name that does not identify one port.
   *
   * @param expected valid input, as text
   * @param suggestion the nearest name; empty if none is similar
   */
  public record Problem(
      Part part, QueryError.Code code, String message, String expected, String suggestion)
      implements Result {}

  /** Resolves a port's name. */
  public Result resolve(String switchName, String port) {
    if (ports.isEmpty()) {
      return new Port(switchName, port);
    }
    Optional<String> known = switchOf(switchName);
    if (known.isEmpty()) {
      return unknownSwitch(switchName);
    }
    return port.matches("[0-9]+") ? numbered(known.get(), port) : neighbour(known.get(), port);
  }

  /**
   * Returns the location of a tap, SWITCH[:PORT[:SIDE]], with its port resolved; unchanged if the
   * network has no such port.
   */
  public String place(String place) {
    String[] parts = place.split(":", -1);
    if (parts.length >= 2 && resolve(parts[0], parts[1]) instanceof Port port) {
      parts[0] = port.switchName();
      parts[1] = port.port();
    }
    return String.join(":", parts);
  }

  /** Returns the switch or host at the other end of a port's link, if the network has it. */
  public Optional<String> neighbourAt(String switchName, String tapName) {
    return ports.of(switchName).stream()
        .filter(port -> port.tapName().equals(tapName))
        .map(SwitchPorts.Port::neighbour)
        .findFirst();
  }

  /**
   * Returns the reason why switches can't copy both sides of a port's queue; empty if they can.
   *
   * @param tapName name of the port as {@link #resolve} returns it
   */
  public Optional<String> copyProblem(String switchName, String tapName) {
    Optional<SwitchPorts.Port> port = ports.find(switchName, tapName);
    String queue = switchName + ":" + tapName;
    if (port.isEmpty()) {
      return Optional.of(
          "the inventory does not state where %s leads, but departures are copied at the other end of the link: number the ports in network.ports"
              .formatted(queue));
    }
    if (!ports.switches().contains(port.get().neighbour())) {
      return Optional.of(
          "%s leads to the host %s, where no switch can copy departures"
              .formatted(queue, port.get().neighbour()));
    }
    return ports.otherEnd(switchName, tapName).isPresent()
        ? Optional.empty()
        : Optional.of(
            "the inventory does not number the ports of %s, to which %s leads (network.ports)"
                .formatted(port.get().neighbour(), queue));
  }

  /** Returns the problem with a switch's name; empty if it exists or the network is unknown. */
  public Optional<Problem> checkSwitch(String name) {
    return ports.isEmpty() || switchOf(name).isPresent()
        ? Optional.empty()
        : Optional.of(unknownSwitch(name));
  }

  private Optional<String> switchOf(String written) {
    return ports.switches().stream().filter(name -> Names.same(name, written)).findFirst();
  }

  private Problem unknownSwitch(String written) {
    return new Problem(
        Part.SWITCH,
        QueryError.Code.UNKNOWN_NAME,
        "unknown switch " + Names.quoted(written),
        "one of the inventory's switches: " + Names.list(ports.switches()),
        Names.nearest(written, ports.switches()));
  }

  /** Resolves a port's number. Numbers can't be checked if the inventory does not list them. */
  private Result numbered(String name, String written) {
    List<SwitchPorts.Port> all = ports.of(name);
    boolean isKnown = !all.isEmpty() && all.stream().allMatch(SwitchPorts.Port::isNumbered);
    String number = written.replaceFirst("^0+(?=.)", "");
    if (number.equals("0")
        || isKnown && all.stream().noneMatch(port -> port.tapName().equals(number))) {
      String message = "%s has no link at port %s".formatted(name, written);
      String expected = isKnown ? portsOf(name) : "a port number from 1";
      return new Problem(Part.PORT, QueryError.Code.UNKNOWN_NAME, message, expected, "");
    }
    return new Port(name, number);
  }

  private Result neighbour(String name, String written) {
    List<SwitchPorts.Port> matching =
        ports.of(name).stream().filter(port -> Names.same(port.neighbour(), written)).toList();
    if (matching.isEmpty()) {
      List<String> neighbours =
          ports.of(name).stream().map(SwitchPorts.Port::neighbour).distinct().toList();
      return new Problem(
          Part.PORT,
          QueryError.Code.UNKNOWN_NAME,
          "%s has no link to %s".formatted(name, Names.quoted(written)),
          portsOf(name),
          Names.nearest(written, neighbours));
    }
    return matching.size() == 1
        ? new Port(name, matching.get(0).tapName())
        : ambiguous(name, matching);
  }

  private static Problem ambiguous(String name, List<SwitchPorts.Port> matching) {
    boolean numbered = matching.stream().allMatch(SwitchPorts.Port::isNumbered);
    Stream<String> choices = matching.stream().map(port -> name + ":" + port.tapName());
    String expected =
        numbered
            ? Names.either(choices.toList())
            : "a port number, such as %s:1; network.ports in the inventory lists them"
                .formatted(name);
    String message =
        "%d links lead from %s to %s".formatted(matching.size(), name, matching.get(0).neighbour());
    return new Problem(Part.BOTH, QueryError.Code.CONFLICT, message, expected, "");
  }

  private String portsOf(String name) {
    List<SwitchPorts.Port> all = ports.of(name);
    return all.isEmpty()
        ? "a switch with links"
        : "a port of %s: %s"
            .formatted(name, Names.list(all.stream().map(SwitchPorts.Port::toString).toList()));
  }
}
