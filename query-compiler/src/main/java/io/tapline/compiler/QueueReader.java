package io.tapline.compiler;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.network.SwitchPorts;
import io.tapline.schema.proto.Queue;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Reads AT: resolves each neighbour of a switch to a port, by the links and port numbers of the
 * inventory's network. Without a network, names are those of taps.
 */
final class QueueReader {
  /** A monitor has at most 64 taps (packet_io/base/tap.h), and a queue needs two. */
  static final int MOST_QUEUES = 32;

  /** Longest name of a tap's switch or port, in bytes (packet_io/base/tap.h). */
  private static final int LONGEST_NAME = 24;

  private final SwitchPorts ports;
  private final Optional<KnownTaps> taps;
  private final Errors errors;

  private QueueReader(SwitchPorts ports, Optional<KnownTaps> taps, Errors errors) {
    this.ports = ports;
    this.taps = taps;
    this.errors = errors;
  }

  /** Checks what needs no inventory. */
  static void checkWithoutNames(List<Ast.Queue> written, Errors errors) {
    new QueueReader(SwitchPorts.NONE, Optional.empty(), errors).read(written);
  }

  /**
   * Reads the queues of a query.
   *
   * @param taps taps of the query's monitor, if they are known
   */
  static List<Queue> read(
      List<Ast.Queue> written, Inventory inventory, Optional<KnownTaps> taps, Errors errors) {
    return new QueueReader(inventory.ports(), taps, errors).read(written);
  }

  private List<Queue> read(List<Ast.Queue> written) {
    if (written.size() > MOST_QUEUES) {
      String message = "AT names more than %d queues".formatted(MOST_QUEUES);
      String expected = "fewer queues: a monitor has at most 64 taps, two of each queue";
      errors.add(written.get(MOST_QUEUES).span(), QueryError.Code.TOO_LARGE, message, expected, "");
      return List.of();
    }
    Set<Queue> queues = new LinkedHashSet<>();
    for (Ast.Queue one : written) {
      Optional<Queue> queue = resolve(one);
      if (queue.isPresent() && !queues.add(queue.get())) {
        errors.note("AT names %s twice".formatted(text(queue.get())));
      }
      queue.ifPresent(found -> requireTaps(one, found));
    }
    return List.copyOf(queues);
  }

  private Optional<Queue> resolve(Ast.Queue written) {
    if (!isName(written.switchName(), "switch") || !isName(written.port(), "port")) {
      return Optional.empty();
    }
    if (ports.isEmpty()) {
      return Optional.of(queue(written.switchName().text(), written.port().text()));
    }
    Optional<String> name = canonical(written.switchName().text(), ports.switches());
    if (name.isEmpty()) {
      String expected = "one of the inventory's switches: " + Names.list(ports.switches());
      errors.unknownPlace(written.switchName(), "switch", expected, ports.switches());
      return Optional.empty();
    }
    boolean number = written.port().text().matches("[0-9]+");
    return (number ? numbered(name.get(), written.port()) : toNeighbour(name.get(), written))
        .map(port -> queue(name.get(), port));
  }

  /** Checks the form that a tap's switch and port have. */
  private boolean isName(Ast.Word word, String what) {
    String text = word.text();
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    boolean right =
        bytes > 0 && bytes <= LONGEST_NAME && !text.contains(":") && !text.contains("=");
    if (!right) {
      String message = "%s is no name of a %s".formatted(Names.quoted(text), what);
      errors.range(
          word.span(), message, "1 to %d bytes, without ':' and '='".formatted(LONGEST_NAME));
    }
    return right;
  }

  /** Returns a port by its number. Numbers that the inventory does not give can't be checked. */
  private Optional<String> numbered(String name, Ast.Word word) {
    List<SwitchPorts.Port> all = ports.of(name);
    boolean known = !all.isEmpty() && all.stream().allMatch(SwitchPorts.Port::isNumbered);
    String number = word.text().replaceFirst("^0+(?=.)", "");
    if (number.equals("0")
        || known && all.stream().noneMatch(port -> port.tapName().equals(number))) {
      String message = "%s has no link at port %s".formatted(name, word.text());
      String expected = known ? portsOf(name) : "a port number from 1";
      errors.place(word.span(), QueryError.Code.UNKNOWN_NAME, message, expected, "");
      return Optional.empty();
    }
    return Optional.of(number);
  }

  private Optional<String> toNeighbour(String name, Ast.Queue written) {
    Ast.Word word = written.port();
    List<SwitchPorts.Port> found =
        ports.of(name).stream().filter(port -> Names.same(port.neighbour(), word.text())).toList();
    if (found.size() == 1) {
      return Optional.of(found.get(0).tapName());
    }
    if (found.isEmpty()) {
      List<String> neighbours =
          ports.of(name).stream().map(SwitchPorts.Port::neighbour).distinct().toList();
      String message = "%s has no link to %s".formatted(name, Names.quoted(word.text()));
      String nearest = Names.nearest(word.text(), neighbours);
      errors.place(word.span(), QueryError.Code.UNKNOWN_NAME, message, portsOf(name), nearest);
      return Optional.empty();
    }
    boolean numbered = found.stream().allMatch(SwitchPorts.Port::isNumbered);
    Stream<String> choices = found.stream().map(port -> name + ":" + port.tapName());
    String expected =
        numbered
            ? Names.either(choices.toList())
            : "a port number, such as %s:1; network.ports in the inventory lists them"
                .formatted(name);
    String message =
        "%d links lead from %s to %s".formatted(found.size(), name, found.get(0).neighbour());
    errors.place(written.span(), QueryError.Code.CONFLICT, message, expected, "");
    return Optional.empty();
  }

  private String portsOf(String name) {
    List<SwitchPorts.Port> all = ports.of(name);
    return all.isEmpty()
        ? "a switch with links"
        : "a port of %s: %s"
            .formatted(name, Names.list(all.stream().map(SwitchPorts.Port::toString).toList()));
  }

  private void requireTaps(Ast.Queue written, Queue queue) {
    List<String> missing = taps.map(known -> known.missing(text(queue))).orElse(List.of());
    if (missing.isEmpty()) {
      return;
    }
    String message =
        missing.size() == 2
            ? "%s has no taps".formatted(text(queue))
            : "%s has a tap on one side only".formatted(text(queue));
    List<String> options = missing.stream().map("--tap %s=SOURCE"::formatted).toList();
    List<String> complete = taps.orElseThrow().queues();
    String others = complete.isEmpty() ? "" : "; with both taps: " + Names.list(complete);
    errors.place(
        written.span(),
        QueryError.Code.CONFLICT,
        message,
        String.join(" and ", options) + others,
        "");
  }

  private static Optional<String> canonical(String written, List<String> names) {
    return names.stream().filter(name -> Names.same(name, written)).findFirst();
  }

  private static Queue queue(String switchName, String port) {
    return Queue.newBuilder().setSwitchName(switchName).setPort(port).build();
  }

  /** Returns "SWITCH:PORT". */
  static String text(Queue queue) {
    return queue.getSwitchName() + ":" + queue.getPort();
  }
}
