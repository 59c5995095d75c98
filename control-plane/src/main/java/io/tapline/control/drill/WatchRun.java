package io.tapline.control.drill;

import io.tapline.compiler.packets.PacketCondition;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Span;
import java.util.regex.Pattern;

/**
 * The place where a watch is evaluated: on MultiLog nodes, or in a monitor.
 *
 * @param inMonitor true for a monitor
 * @param reason user-facing reason for that choice
 */
public record WatchRun(boolean inMonitor, String reason) {
  /** Evaluation on nodes, which maintain aggregates of header fields. */
  public static final WatchRun NODES =
      new WatchRun(false, "MultiLog nodes maintain aggregates of all header fields");

  /** A function of a field, such as {@code count(syn)}; outputs of aggregates are single words. */
  private static final Pattern FUNCTION =
      Pattern.compile("(?i)\\b(?!(?:and|or|not)\\b)[a-z]\\w*\\s*\\(");

  /**
   * Chooses where a watch runs.
   *
   * @param run auto, monitor or node; empty for auto
   * @param when condition of the watch
   * @throws DrillException if {@code run} is invalid, or the condition can't be evaluated there
   */
  public static WatchRun choose(String run, String when) throws DrillException {
    boolean ofPackets = PacketCondition.isCondition(new Ast.Word(when, "", new Span(1, 1, 0)));
    boolean ofHeaders = !FUNCTION.matcher(when).find();
    switch (run) {
      case "", "auto" -> {
        return ofPackets && !ofHeaders
            ? new WatchRun(
                true, "its condition is on properties of single packets, which only monitors see")
            : NODES;
      }
      case "monitor" -> {
        if (!ofPackets) {
          throw DrillException.invalid(
              "run=monitor needs a condition on the packets of a window, such as \"count(syn) > 100\" or \"sum(bytes) > 10MB\", but when is '%s'; run=node evaluates aggregates of other header fields"
                  .formatted(when));
        }
        return new WatchRun(true, "requested");
      }
      case "node" -> {
        if (ofPackets && !ofHeaders) {
          throw DrillException.invalid(
              "run=node can't evaluate '%s', a condition on single packets: leave out run, or use run=monitor"
                  .formatted(when));
        }
        return new WatchRun(false, "requested");
      }
      default ->
          throw DrillException.invalid("run '" + run + "' is not one of auto, monitor, node");
    }
  }

  /** Returns the name of the place, as in requests. */
  public String name() {
    return inMonitor ? "monitor" : "node";
  }
}
