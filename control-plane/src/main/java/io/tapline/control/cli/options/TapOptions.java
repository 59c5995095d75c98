package io.tapline.control.cli.options;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.taps.PortNames;
import io.tapline.control.Tap;
import io.tapline.control.cli.console.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options for taps: copies of packets that switches send to this host. */
public final class TapOptions {
  @Option(
      names = "--tap",
      paramLabel = "TAP",
      converter = Converter.class,
      description =
          "SWITCH[:PORT[:arrivals|departures]]=INTERFACE|FILE: copies made at this switch, port and side of its queue."
              + " With a network in the inventory, PORT is a neighbour or a port number. A packet seen at several taps counts once. FILE#INTERFACE is one interface of a pcapng.")
  private List<Tap> taps = new ArrayList<>();

  public List<Tap> taps() {
    return taps;
  }

  /**
   * Resolves the taps' ports from the links in an inventory's network.
   *
   * @throws UsageException if the network lacks a switch or port; the message lists existing ones
   */
  public void resolve(Inventory inventory) {
    PortNames ports = new PortNames(inventory.ports());
    taps = taps.stream().map(tap -> resolved(tap, ports)).toList();
  }

  /** Returns the tap with the network's names of the switch and port. */
  static Tap resolved(Tap tap, PortNames ports) {
    int equals = tap.text().indexOf('=');
    String[] place = tap.text().substring(0, equals).split(":", -1);
    if (place.length < 2) {
      Optional<PortNames.Problem> problem = ports.checkSwitch(place[0]);
      if (problem.isPresent()) {
        throw refusal(tap, problem.get());
      }
      return tap;
    }
    PortNames.Result result = ports.resolve(place[0], place[1]);
    if (result instanceof PortNames.Problem problem) {
      throw refusal(tap, problem);
    }
    PortNames.Port port = (PortNames.Port) result;
    place[0] = port.switchName();
    place[1] = port.port();
    return new Tap(String.join(":", place) + tap.text().substring(equals));
  }

  private static UsageException refusal(Tap tap, PortNames.Problem problem) {
    String hint =
        problem.suggestion().isEmpty() ? "" : "; did you mean " + problem.suggestion() + "?";
    return new UsageException(
        "--tap %s: %s; expected %s%s"
            .formatted(tap.text(), problem.message(), problem.expected(), hint));
  }

  /** Parses a tap. */
  static final class Converter implements ITypeConverter<Tap> {
    @Override
    public Tap convert(String text) {
      try {
        return new Tap(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
