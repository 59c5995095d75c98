package io.tapline.compiler;

import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.taps.PortNames;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.network.SwitchPorts;
import io.tapline.schema.proto.Queue;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Reads AT: resolves each neighbour of a switch to a port, using the links and port numbers in the
 * inventory's network. Without a network, names refer to taps.
 */
final class QueueReader {
  /**
   * Maximum number of queues: a monitor has at most 64 taps (packet_io/base/tap.h), and a queue
   * needs two.
   */
  static final int MAX_QUEUES = 32;

  /** Maximum length of a tap's switch or port name, in bytes (packet_io/base/tap.h). */
  private static final int LONGEST_NAME = 24;

  private final PortNames ports;
  private final Optional<KnownTaps> taps;
  private final Errors errors;

  private QueueReader(PortNames ports, Optional<KnownTaps> taps, Errors errors) {
    this.ports = ports;
    this.taps = taps;
    this.errors = errors;
  }

  /** Checks everything that does not depend on the inventory. */
  static void checkWithoutNames(List<Ast.Queue> writtenQueues, Errors errors) {
    new QueueReader(new PortNames(SwitchPorts.NONE), Optional.empty(), errors).read(writtenQueues);
  }

  /**
   * Reads the queues of a query.
   *
   * @param taps taps of the query's monitor, if they are known
   */
  static List<Queue> read(
      List<Ast.Queue> writtenQueues, Inventory inventory, Optional<KnownTaps> taps, Errors errors) {
    return new QueueReader(new PortNames(inventory.ports()), taps, errors).read(writtenQueues);
  }

  private List<Queue> read(List<Ast.Queue> writtenQueues) {
    if (writtenQueues.size() > MAX_QUEUES) {
      String message = "AT names more than %d queues".formatted(MAX_QUEUES);
      String expected = "fewer queues: a monitor has at most 64 taps, two for each queue";
      errors.add(
          writtenQueues.get(MAX_QUEUES).span(), QueryError.Code.TOO_LARGE, message, expected, "");
      return List.of();
    }
    Set<Queue> queues = new LinkedHashSet<>();
    for (Ast.Queue one : writtenQueues) {
      Optional<Queue> queue = resolve(one);
      if (queue.isPresent() && !queues.add(queue.get())) {
        errors.note("AT names %s twice".formatted(text(queue.get())));
      }
      queue.ifPresent(marked -> requireTaps(one, marked));
    }
    return List.copyOf(queues);
  }

  private Optional<Queue> resolve(Ast.Queue writtenQueue) {
    if (!isName(writtenQueue.switchName(), "switch") || !isName(writtenQueue.port(), "port")) {
      return Optional.empty();
    }
    PortNames.Result result =
        ports.resolve(writtenQueue.switchName().text(), writtenQueue.port().text());
    if (result instanceof PortNames.Port port) {
      return Optional.of(queue(port.switchName(), port.port()));
    }
    report(writtenQueue, (PortNames.Problem) result);
    return Optional.empty();
  }

  private void report(Ast.Queue writtenQueue, PortNames.Problem problem) {
    Span span =
        switch (problem.part()) {
          case SWITCH -> writtenQueue.switchName().span();
          case PORT -> writtenQueue.port().span();
          case BOTH -> writtenQueue.span();
        };
    errors.place(span, problem.code(), problem.message(), problem.expected(), problem.suggestion());
  }

  /** Checks the form of a tap's switch or port name. */
  private boolean isName(Ast.Word word, String role) {
    String text = word.text();
    int bytes = text.getBytes(StandardCharsets.UTF_8).length;
    boolean isRight =
        bytes > 0 && bytes <= LONGEST_NAME && !text.contains(":") && !text.contains("=");
    if (!isRight) {
      String message = "%s is not a valid %s name".formatted(Names.quoted(text), role);
      errors.range(
          word.span(), message, "1 to %d bytes, without ':' and '='".formatted(LONGEST_NAME));
    }
    return isRight;
  }

  private void requireTaps(Ast.Queue writtenQueue, Queue queue) {
    List<String> missing = taps.map(known -> known.missing(text(queue))).orElse(List.of());
    if (missing.isEmpty()) {
      return;
    }
    if (taps.orElseThrow().copied()) {
      checkCopies(writtenQueue, queue, missing);
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
        writtenQueue.span(),
        QueryError.Code.CONFLICT,
        message,
        String.join(" and ", options) + others,
        "");
  }

  /** Reports an error if switches can't copy both sides of a queue. */
  private void checkCopies(Ast.Queue writtenQueue, Queue queue, List<String> missing) {
    ports
        .copyProblem(queue.getSwitchName(), queue.getPort())
        .ifPresent(
            problem ->
                errors.place(
                    writtenQueue.span(),
                    QueryError.Code.CONFLICT,
                    problem,
                    "a queue between two switches, or an agent with "
                        + String.join(
                            " and ",
                            missing.stream().map("--tap %s=INTERFACE"::formatted).toList()),
                    ""));
  }

  private static Queue queue(String switchName, String port) {
    return Queue.newBuilder().setSwitchName(switchName).setPort(port).build();
  }

  /** Returns "SWITCH:PORT". */
  static String text(Queue queue) {
    return queue.getSwitchName() + ":" + queue.getPort();
  }
}
