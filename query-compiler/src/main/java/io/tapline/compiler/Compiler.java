package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.packets.SplitTriggers;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.packets.TupleTriggers;
import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Syntax;
import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.ParserArgument;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Sampling;
import io.tapline.schema.proto.Shape;
import io.tapline.schema.proto.TupleFilter;
import io.tapline.schema.proto.TupleTrigger;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Compiles a query to a plan.
 *
 * <pre>
 * text ─▶ Syntax ─▶ Ast ─▶ parsers   (Catalogue)
 *                       ├▶ arguments (of the parsers)
 *                       ├▶ shapes    (fields of the parsers, TextPolicy)
 *                       ├▶ match     (Inventory) ─▶ Placement ─▶ monitors, rules
 *                       ├▶ queues    (ports of the Inventory, KnownTaps)
 *                       ├▶ limit, sampling
 *                       └▶ processors (ProcessorCatalogue, fields of the parsers)
 * </pre>
 *
 * <p>Every stage reports the errors in its part, so one run finds the errors of all stages. No
 * input makes the compiler throw.
 */
public final class Compiler {
  private static final int PLAN_FORMAT = 1;

  private final Catalogue catalogue;
  private final Inventory inventory;
  private final Options options;
  private final Errors errors;

  private Compiler(Catalogue catalogue, Inventory inventory, Options options) {
    this.catalogue = catalogue;
    this.inventory = inventory.within(options.rights());
    this.options = options;
    this.errors = new Errors(options.rights().scope().limits());
  }

  /**
   * The input of a compilation other than text, parsers and hosts.
   *
   * @param query query ID: at most 200 lower-case letters, digits and '-', not beginning with '-'
   * @param epoch epoch of the assignment, from 1
   * @param rights the caller's rights
   * @param placement places the monitors
   * @param missingTopics alert topics that are known not to exist
   * @param taps taps of the query's monitor; empty if they are unknown
   */
  public record Options(
      String query,
      int epoch,
      Rights rights,
      Placement placement,
      Set<String> missingTopics,
      Optional<KnownTaps> taps) {
    public Options {
      Objects.requireNonNull(placement, "placement");
      missingTopics = Set.copyOf(missingTopics);
      if (!query.matches("[a-z0-9][a-z0-9-]{0,199}")) {
        throw new IllegalArgumentException(
            "the query ID must match [a-z0-9][a-z0-9-]{0,199}: " + query);
      }
      if (epoch < 1) {
        throw new IllegalArgumentException("the epoch must be at least 1: " + epoch);
      }
    }

    /** Creates options with unknown taps and without known missing topics. */
    public Options(String query, int epoch, Rights rights, Placement placement) {
      this(query, epoch, rights, placement, Set.of(), Optional.empty());
    }

    public Options withMissingTopics(Set<String> topics) {
      return new Options(query, epoch, rights, placement, topics, taps);
    }

    public Options withTaps(KnownTaps knownTaps) {
      return new Options(query, epoch, rights, placement, missingTopics, Optional.of(knownTaps));
    }

    /**
     * Returns options for the first assignment of a query to this host's monitor, with all rights.
     */
    public static Options local(String query) {
      return local(query, Rights.ALL);
    }

    /** Returns the same options for a caller with these rights. */
    public static Options local(String query, Rights rights) {
      return new Options(query, 1, rights, Placement.LOCAL);
    }
  }

  /**
   * Compiles a query.
   *
   * @param text at most 64 KiB
   * @return a plan with notes, or errors
   */
  public static CompileResult compile(
      String text, Catalogue parsers, Inventory hosts, Options options) {
    return new Compiler(parsers, hosts, options).compile(text);
  }

  private CompileResult compile(String text) {
    Syntax writtenSyntax = Syntax.read(text, errors);
    Ast.Query query = NamedQuery.expand(writtenSyntax, inventory, errors).query();
    int syntaxErrors = errors.count();
    List<ParserInfo> named = parsers(query.parsers());
    boolean allParsersKnown =
        !named.isEmpty() && errors.count() == syntaxErrors && syntaxErrors == 0;
    List<ParserArgument> arguments = ParserArgumentReader.read(query.parsers(), catalogue, errors);
    List<ParserInfo> parsers = IntervalReader.choose(named, arguments);
    List<Shape> shapes = ShapeReader.read(query.parsers(), catalogue, inventory.texts(), errors);
    QueueQuery queues = QueueQuery.of(parsers, query, errors);
    Match selection = MatchReader.read(query, inventory, options, queues.measuresQueues(), errors);
    queues.check(inventory, options.rights(), selection, arguments, allParsersKnown);
    List<Queue> queueList = queues.read(inventory, options);
    Match match = queues.match(selection);
    Limit limit = LimitReader.read(query.limit(), errors);
    Sampling sampling = AllTraffic.sampling(parsers, query, errors);
    List<TupleFilter> filters = filters(query.where(), parsers, allParsersKnown);
    PacketTriggers packets = new PacketTriggers(sampling, filters);
    List<Processor> processors = processors(query, parsers, allParsersKnown, packets);
    if (errors.any()) {
      return CompileResult.wrong(errors.notes(), errors.sorted());
    }
    noteUnused(parsers, processors);
    noteJoins(processors);
    noteShortLimit(limit, processors);
    noteFlowsWithoutSpeed(arguments);
    // Monitors receive both sides of a queue as taps, so switches mirror nothing for it.
    Placement placement = queueList.isEmpty() ? options.placement() : Placement.LOCAL;
    Placement.Placed placed = placement.place(match);
    PacketTriggers.Split split = packets.split(processors);
    List<TupleTrigger> tupleTriggers = TupleTriggers.of(split.processors(), sampling);
    Plan.Builder plan =
        Plan.newBuilder()
            .setFormat(PLAN_FORMAT)
            .setQuery(options.query())
            .setText(NamedQuery.layOut(writtenSyntax, inventory))
            .setEpoch(options.epoch())
            .addAllParsers(names(parsers, !split.triggers().isEmpty() || !tupleTriggers.isEmpty()))
            .setMatch(match)
            .addAllQueues(queueList)
            .setLimit(limit)
            .setSampling(sampling)
            .setTopic("tapline.tuples." + options.query())
            .addAllMonitors(placed.monitors())
            .addAllProcessors(split.processors().stream().map(TupleTriggers::inJob).toList())
            .addAllRules(placed.rules())
            .addAllShapes(shapes)
            .addAllArguments(arguments)
            .addAllFilters(filters)
            .addAllTriggers(split.triggers())
            .addAllTupleTriggers(tupleTriggers);
    queues.reported(selection).ifPresent(plan::setReported);
    if (!fitIntoMonitor(query, split) || !canSplit(query, plan.build())) {
      return CompileResult.wrong(errors.notes(), errors.sorted());
    }
    Plan placedPlan = TupleTriggers.inMonitors(SplitTriggers.split(plan.build()));
    return new CompileResult(Optional.of(placedPlan), errors.notes(), List.of());
  }

  private List<ParserInfo> parsers(List<Ast.Parser> writtenParsers) {
    List<ParserInfo> parsers = new ArrayList<>();
    for (Ast.Parser one : writtenParsers) {
      Ast.Word word = one.name();
      Optional<ParserInfo> parser = catalogue.parser(word.text());
      if (parser.isEmpty()) {
        errors.unknown(word, "parser", catalogue.names());
      } else if (parsers.contains(parser.get())) {
        errors.warning("PARSE names %s twice".formatted(parser.get().name()));
      } else {
        parsers.add(parser.get());
      }
    }
    return parsers;
  }

  /** Returns the parsers' names, including the parser for triggers if the monitor tests any. */
  private static List<String> names(List<ParserInfo> parsers, boolean monitorTests) {
    List<String> names = new ArrayList<>(parsers.stream().map(ParserInfo::name).toList());
    if (monitorTests && !names.contains(PacketTriggers.PARSER)) {
      names.add(PacketTriggers.PARSER);
    }
    return names;
  }

  /**
   * Returns true if the plan's monitors can test its triggers together; otherwise reports errors.
   */
  private boolean canSplit(Ast.Query query, Plan plan) {
    Map<Integer, String> obstacles = SplitTriggers.obstacles(plan);
    obstacles.forEach(
        (number, obstacle) ->
            errors.conflict(
                query.processors().get(number).name().span(),
                "%d monitors capture this trigger's packets, and %s"
                    .formatted(plan.getMonitorsCount(), obstacle),
                "another condition, every=10ms or more, or a FROM and TO whose traffic one monitor captures"));
    return obstacles.isEmpty();
  }

  /**
   * Adds a note with the triggers' cost for the inventory's traffic, if that is known. Returns
   * false, and reports an error instead, if the cost exceeds a monitor's limit.
   */
  private boolean fitIntoMonitor(Ast.Query query, PacketTriggers.Split split) {
    if (split.triggers().isEmpty() || inventory.traffic().isEmpty()) {
      return true;
    }
    TriggerCost cost = new TriggerCost(split.triggers());
    TriggerCost.Traffic traffic = inventory.traffic().get();
    if (cost.busy(traffic) <= TriggerCost.MAX_BUSY) {
      errors.note(cost.at(traffic));
      return true;
    }
    Ast.Processor first = query.processors().get(split.triggers().get(0).getProcessor());
    String expected =
        "at most %.0f %% of a core: longer windows, coarser groups, or fewer triggers"
            .formatted(TriggerCost.MAX_BUSY * 100);
    errors.add(first.name().span(), QueryError.Code.TOO_LARGE, cost.at(traffic), expected, "");
    return false;
  }

  private List<TupleFilter> filters(
      Ast.Condition writtenCondition, List<ParserInfo> parsers, boolean allParsersKnown) {
    Optional<ParsedCondition> where = WhereReader.parse(writtenCondition, errors);
    if (where.isEmpty()) {
      return List.of();
    } else if (!allParsersKnown) {
      WhereReader.checkWithoutFields(where.get(), errors);
      return List.of();
    }
    Fields fields = new Fields(parsers, catalogue, errors);
    return WhereReader.read(where.get(), fields, inventory, errors);
  }

  /** Compiles the processors. Fields can be resolved only if all parsers are known. */
  private List<Processor> processors(
      Ast.Query query, List<ParserInfo> parsers, boolean allParsersKnown, PacketTriggers packets) {
    if (!ProcessorCompiler.areFewEnough(query.processors(), errors)) {
      return List.of();
    }
    int named = Validation.distinctParsers(query);
    List<Processor> compiled = new ArrayList<>();
    for (Ast.Processor processor : query.processors()) {
      if (allParsersKnown) {
        new ProcessorCompiler(parsers, catalogue, inventory, options, packets, errors)
            .compile(processor, compiled.size())
            .ifPresent(compiled::add);
      } else {
        ProcessorCompiler.checkWithoutFields(processor, named, errors);
      }
    }
    return compiled;
  }

  /**
   * Warns if {@code flows_above} is given without {@code link}, since it is a share of the link's
   * speed.
   */
  private void noteFlowsWithoutSpeed(List<ParserArgument> arguments) {
    if (isPositive("flows_above", arguments) && !isPositive("link", arguments)) {
      errors.warning(
          "flows_above has no effect unless the link speed is announced with the routes: add link=BITS_PER_SECOND, such as link=10000000000");
    }
  }

  private static boolean isPositive(String name, List<ParserArgument> arguments) {
    return arguments.stream()
        .anyMatch(
            argument ->
                argument.getName().equals(name)
                    && new BigDecimal(argument.getValue()).signum() > 0);
  }

  private void noteShortLimit(Limit limit, List<Processor> processors) {
    long limitNs = Durations.toNanos(limit.getDuration());
    for (Processor processor : processors) {
      long windowNs = Durations.toNanos(processor.getWindow().getSize());
      if (limit.hasDuration() && windowNs > limitNs) {
        errors.warning(
            "the query ends after %s, before the first window of %s (%s) is full: its rows will be partial"
                .formatted(
                    Literals.durationText(limitNs),
                    processor.getName(),
                    Literals.durationText(windowNs)));
      }
    }
  }

  private void noteUnused(List<ParserInfo> parsers, List<Processor> processors) {
    Set<String> used = new HashSet<>();
    for (Processor processor : processors) {
      used.add(processor.getParser());
      used.add(processor.getJoin().getParser());
    }
    for (ParserInfo parser : parsers) {
      if (!used.contains(parser.name())) {
        errors.note("no processor uses the tuples of %s".formatted(parser.name()));
      }
    }
  }

  private void noteJoins(List<Processor> processors) {
    for (Processor processor : processors) {
      if (processor.hasJoin()) {
        errors.note(
            "%s joins %s by connection: a connection with several %s tuples is ambiguous and is counted as reused"
                .formatted(
                    processor.getName(),
                    processor.getJoin().getParser(),
                    processor.getJoin().getParser()));
      }
    }
  }
}
