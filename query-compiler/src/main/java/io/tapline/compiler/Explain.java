package io.tapline.compiler;

import io.tapline.compiler.catalogue.ParserArgumentInfo;
import io.tapline.compiler.conditions.ConditionPrinter;
import io.tapline.compiler.packets.ConditionText;
import io.tapline.compiler.packets.GroupWords;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.Note;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Address;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Rule;
import io.tapline.schema.proto.Sampling;
import io.tapline.schema.proto.TupleFilter;
import io.tapline.schema.proto.Value;
import io.tapline.schema.proto.Window;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Explains a plan, as text ({@link #render}) or as JSON ({@link #json}). */
public final class Explain {
  private final StringBuilder out = new StringBuilder();

  private Explain() {}

  /** Returns the plan's JSON, as {@link Plans#toJson} writes it. */
  public static String json(Plan plan) {
    return Plans.toJson(plan);
  }

  /** Returns the plan as multi-line text; every line ends with a line feed. */
  public static String render(Plan plan, List<Note> notes) {
    return render(plan, notes, true);
  }

  /**
   * Returns the text without monitors, mirror rules and servers, for callers that must not see the
   * network.
   */
  public static String renderWithoutNetwork(Plan plan, List<Note> notes) {
    return render(plan, notes, false);
  }

  private static String render(Plan plan, List<Note> notes, boolean network) {
    Explain explain = new Explain();
    explain.head(plan);
    explain.match(plan);
    explain.arguments(plan);
    explain.texts(plan);
    explain.line("sample", sampling(plan.getSampling()));
    explain.line("limit", limit(plan.getLimit()));
    if (network) {
      explain.monitors(plan);
    }
    explain.line("parsers", String.join(", ", plan.getParsersList()));
    if (network) {
      explain.rules(plan.getRulesList());
      explain.stream(plan);
    }
    explain.lines("triggers", PacketTriggers.explain(plan));
    if (plan.getTriggersCount() > 0) {
      explain.lines("cost", new TriggerCost(plan.getTriggersList()).explain());
    }
    explain.job(plan);
    explain.notes(notes);
    return explain.out.toString();
  }

  private void head(Plan plan) {
    out.append("Plan of ").append(plan.getQuery()).append("\n\n");
    plan.getText().lines().forEach(line -> out.append("    ").append(line).append('\n'));
    out.append('\n');
  }

  private void line(String label, String text) {
    out.append("%-9s %s\n".formatted(label, text));
  }

  private void lines(String label, List<String> texts) {
    for (int i = 0; i < texts.size(); i++) {
      line(i == 0 ? label : "", texts.get(i));
    }
  }

  private void match(Plan plan) {
    if (plan.getQueuesCount() > 0) {
      line("match", "all packets of these queues, at the taps of both sides");
      lines("  at", plan.getQueuesList().stream().map(QueueReader::text).toList());
    } else {
      line(
          "match",
          "connections whose client is in FROM and whose server is in TO, packets of both directions");
      sides(plan.getMatch());
    }
    if (plan.hasReported()) {
      line("report", "flows between FROM and TO, in either direction; all flows are measured");
      sides(plan.getReported());
    }
    lines("where", plan.getFiltersList().stream().map(Explain::filter).toList());
  }

  private void sides(Match match) {
    lines("  from", addresses(match.getFromList()));
    lines("  to", addresses(match.getToList()));
    numbers("  vlan", match.getVlansList());
    numbers("  tenant", match.getTenantsList());
  }

  private void numbers(String label, List<Integer> numbers) {
    if (!numbers.isEmpty()) {
      line(label, Names.either(numbers.stream().map(String::valueOf).toList()));
    }
  }

  private static String filter(TupleFilter filter) {
    return String.join(", ", filter.getParsersList()) + ": " + filter.getText();
  }

  private void texts(Plan plan) {
    lines(
        "texts",
        plan.getShapesList().stream()
            .map(
                shape ->
                    "%s of %s: %s"
                        .formatted(
                            shape.getField(),
                            shape.getParser(),
                            shape.getForm().name().toLowerCase(Locale.ROOT)))
            .toList());
  }

  private void arguments(Plan plan) {
    lines(
        "arguments",
        plan.getArgumentsList().stream()
            .map(
                step ->
                    "%s of %s: %s"
                        .formatted(
                            step.getName(),
                            step.getParser(),
                            ParserArgumentInfo.asWritten(step.getValue(), step.getUnit())))
            .toList());
  }

  private static List<String> addresses(List<Address> addresses) {
    return addresses.isEmpty() ? List.of("any") : addresses.stream().map(Explain::address).toList();
  }

  private static String address(Address address) {
    String prefix = address.getPrefix().isEmpty() ? "any address" : address.getPrefix();
    String port = address.getPort() == 0 ? "any port" : "port " + address.getPort();
    if (address.getLastPort() > 0) {
      port = "ports %d to %d".formatted(address.getPort(), address.getLastPort());
    }
    String host = address.getHost().isEmpty() ? "" : " (" + address.getHost() + ")";
    return prefix + ", " + port + host;
  }

  private static String sampling(Sampling sampling) {
    return switch (sampling.getMode()) {
      case FIXED -> "%s of flows; counts are scaled up".formatted(plain(sampling.getRate()));
      case AUTO -> "auto, at most %s of flows".formatted(plain(sampling.getRate()));
      default -> "every flow";
    };
  }

  private static String plain(double rate) {
    return BigDecimal.valueOf(rate).stripTrailingZeros().toPlainString();
  }

  private static String limit(Limit limit) {
    if (limit.hasDuration()) {
      return Literals.durationText(limit.getDuration()) + " of packet time";
    } else if (limit.getPackets() != 0) {
      String packets = Integer.toUnsignedString(limit.getPackets());
      return packets + " packets after match and sampling, over all monitors together";
    } else {
      return "none: until stopped or the captures end";
    }
  }

  private void monitors(Plan plan) {
    List<String> texts = new ArrayList<>();
    for (Monitor monitor : plan.getMonitorsList()) {
      String host = monitor.getHost().isEmpty() ? "this host" : monitor.getHost();
      texts.add("%s on %s, partition %d".formatted(monitor.getId(), host, monitor.getPartition()));
    }
    lines("monitors", texts);
  }

  private void rules(List<Rule> rules) {
    if (rules.isEmpty()) {
      line("rules", "none: a local monitor needs no switch to mirror to it");
      return;
    }
    List<String> texts = new ArrayList<>();
    for (Rule rule : rules) {
      String actions = String.join(",", rule.getActionsList());
      texts.add(
          "%s: priority=%d,%s actions=%s"
              .formatted(rule.getSwitchId(), rule.getPriority(), rule.getMatch(), actions));
    }
    lines("rules", texts);
  }

  private void stream(Plan plan) {
    List<String> leaders = new ArrayList<>();
    for (Leader leader : plan.getStream().getLeadersList()) {
      leaders.add(
          "partition %d led by broker %d%s"
              .formatted(leaders.size(), leader.getBroker(), on(leader.getHost())));
    }
    lines("stream", leaders);
    if (!plan.getStream().getCluster().isEmpty()) {
      String hosts = String.join(", ", plan.getStream().getHostsList());
      line("job", "Flink at " + plan.getStream().getCluster() + on(hosts));
    }
  }

  private static String on(String hosts) {
    return hosts.isEmpty() ? "" : " on " + hosts;
  }

  private void job(Plan plan) {
    out.append("\njob graph\n").append(plan.getTopic()).append('\n');
    int last = plan.getProcessorsCount() - 1;
    for (int i = 0; i <= last; i++) {
      branch(plan.getProcessors(i), i == last);
    }
  }

  private void branch(Processor processor, boolean isLast) {
    out.append(isLast ? "└─ " : "├─ ").append(processor.getName()).append('\n');
    List<String> steps = steps(processor);
    for (int i = 0; i < steps.size(); i++) {
      out.append(isLast ? "   " : "│  ").append(i == steps.size() - 1 ? "└─ " : "├─ ");
      out.append(steps.get(i)).append('\n');
    }
  }

  /** Returns the steps that a tuple passes through, in order. */
  private static List<String> steps(Processor processor) {
    List<String> steps = new ArrayList<>();
    steps.add(value(processor.getParser(), processor.getValue()));
    if (processor.getValue().getOnly().getNodesCount() > 0) {
      steps.add("only    " + ConditionPrinter.text(processor.getValue().getOnly()));
    }
    if (processor.hasJoin()) {
      String fields = String.join(", ", processor.getJoin().getFieldsList());
      steps.add("join    %s of %s by flow ID".formatted(fields, processor.getJoin().getParser()));
    }
    String key =
        String.join(", ", GroupWords.text(processor.getKeyList(), processor.getNetworksList()));
    steps.add("group   " + (key.isEmpty() ? "all together" : "by " + key));
    steps.add("window  " + window(processor.getWindow()));
    steps.add(aggregate(processor.getAggregate(), processor.getShare()));
    for (Operand operand : processor.getOperandsList()) {
      steps.add(value(processor.getParser(), operand.getValue()));
      steps.add(aggregate(operand.getAggregate(), operand.getShare()));
    }
    if (processor.getWhenCount() > 0) {
      steps.add("filter  " + ConditionText.of(processor, processor.getWhenList()));
    }
    if (processor.getClearCount() > 0) {
      steps.add("hold    while " + ConditionText.of(processor, processor.getClearList()));
    }
    if (processor.hasCondition()) {
      steps.add("filter  " + condition(processor.getCondition()));
    }
    if (processor.hasTrigger()) {
      steps.add(
          "alert   %s, after %d in a row"
              .formatted(processor.getTrigger().getSeverity(), processor.getTrigger().getAfter()));
      processor.getTrigger().getActionsList().forEach(action -> steps.add(action(action)));
    }
    if (processor.hasRanking()) {
      String order = processor.getRanking().getAscending() ? "smallest" : "largest";
      steps.add("rank    the %d %s".formatted(processor.getRanking().getK(), order));
    }
    return steps;
  }

  private static String action(Action action) {
    if (!action.getTopic().isEmpty()) {
      return "send    each alert to the Kafka topic " + action.getTopic();
    }
    String where = action.getPrivateAddresses() ? "" : ", at a public address only";
    return "call    POST %s with each alert%s".formatted(action.getWebhook(), where);
  }

  private static String value(String parser, Value value) {
    String unit = value.getUnit().isEmpty() ? "" : " (" + value.getUnit() + ")";
    return switch (value.getKindCase()) {
      case FIELD -> "take    %s of %s%s".formatted(value.getField(), parser, unit);
      case CONDITION ->
          "test    if a tuple of %s meets %s".formatted(parser, value.getConditionText());
      case DIFFERENCE -> "diff    %s%s".formatted(difference(parser, value.getDifference()), unit);
      default -> "take    tuples of " + parser;
    };
  }

  private static String difference(String parser, Difference difference) {
    String start = Names.either(difference.getStartList());
    String end = Names.either(difference.getEndList());
    return "time of %s from %s %s to %s".formatted(parser, difference.getEventField(), start, end);
  }

  private static String window(Window window) {
    String slide = Literals.durationText(window.getSlide());
    return window.hasSize()
        ? "%s, every %s".formatted(Literals.durationText(window.getSize()), slide)
        : "the whole query, a snapshot every " + slide;
  }

  private static String condition(Condition condition) {
    String comparison = condition.getComparison().name().toLowerCase(Locale.ROOT);
    String threshold =
        BigDecimal.valueOf(condition.getThreshold()).stripTrailingZeros().toPlainString();
    return comparison.replace('_', ' ') + " " + threshold;
  }

  private static String aggregate(String aggregate, double share) {
    return switch (aggregate) {
      case "HISTOGRAM" -> "spread  count and histogram";
      case "PERCENTILE" -> "%-7s of each group".formatted(ConditionText.percentile(share));
      case "DISTRIBUTION" -> "spread  count, mean, min, max, quantiles, histogram";
      default ->
          "%-7s of each group"
              .formatted(aggregate.isEmpty() ? "count" : aggregate.toLowerCase(Locale.ROOT));
    };
  }

  private void notes(List<Note> notes) {
    if (!notes.isEmpty()) {
      out.append('\n');
    }
    for (Note note : notes) {
      out.append(note.level().name().toLowerCase(Locale.ROOT))
          .append(": ")
          .append(note.message())
          .append('\n');
    }
  }
}
