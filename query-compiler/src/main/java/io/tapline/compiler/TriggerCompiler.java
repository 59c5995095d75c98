package io.tapline.compiler;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.compiler.text.Span;
import io.tapline.compiler.text.Syntax;
import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Compiles many packet triggers, whose queries differ only in the trigger's arguments. Common parts
 * are compiled only once: the other clauses, and the rest of triggers that differ only in {@code
 * only=}. Triggers bypass the grammar. A trigger that can't be compiled this way is compiled as a
 * whole query, which reports its errors. Thread-safe.
 */
public final class TriggerCompiler {
  private static final String PROCESS = " PROCESS ";
  private static final Span ANYWHERE = new Span(1, 1, 1);

  /** A trigger that is valid in all queries that can have triggers on packets. */
  private static final TriggerText EXAMPLE =
      new TriggerText("count > 0", List.of(), "", 1_000_000_000, "warning");

  private final String clauses;
  private final Catalogue catalogue;
  private final Inventory inventory;
  private final Inventory ownInventory;
  private final Compiler.Options options;

  /** The query's plan with a simple trigger; empty if only whole queries can be compiled. */
  private final Optional<Plan> context;

  /** The query's only parser, which counts packets; null if {@link #context} is empty. */
  private final ParserInfo parser;

  private final Map<TriggerText, Optional<PacketTrigger>> wide = new ConcurrentHashMap<>();

  /**
   * When a trigger's alerts begin and end.
   *
   * @param clear threshold or condition that ends an alert; blank for none
   * @param cooldownNs minimum time between the beginnings of two alerts; 0 for none
   */
  public record Alerting(int after, String clear, long cooldownNs, String severity) {}

  /**
   * The arguments of a trigger, as written.
   *
   * @param when condition on the packets of a window
   * @param group groups; empty for all packets together
   * @param only condition on packets; blank for none
   * @param everyNs time between the ends of two windows
   * @param windowNs length of the windows
   */
  public record TriggerText(
      String when,
      List<String> group,
      String only,
      long everyNs,
      long windowNs,
      Alerting alerting) {
    public TriggerText {
      group = List.copyOf(group);
    }

    /** Creates a trigger whose windows do not overlap, and whose alerts last for one window. */
    public TriggerText(
        String when, List<String> group, String only, long everyNs, String severity) {
      this(when, group, only, everyNs, everyNs, new Alerting(1, "", 0, severity));
    }

    /** Returns the trigger as it is written in PROCESS. */
    public String text() {
      List<String> arguments = new ArrayList<>();
      arguments.add("when=\"%s\"".formatted(when));
      if (!group.isEmpty()) {
        arguments.add("group=(%s)".formatted(String.join(", ", group)));
      }
      if (!only.isBlank()) {
        arguments.add("only=\"%s\"".formatted(only));
      }
      words().forEach((name, value) -> arguments.add(name + "=" + value));
      if (!alerting.clear().isBlank()) {
        arguments.add("clear=\"%s\"".formatted(alerting.clear()));
      }
      return "(trigger: %s)".formatted(String.join(", ", arguments));
    }

    /** Returns the arguments that are written without quotes, by name. */
    private Map<String, String> words() {
      Map<String, String> words = new LinkedHashMap<>();
      words.put("every", Literals.durationText(everyNs));
      if (windowNs != everyNs) {
        words.put("w", Literals.durationText(windowNs));
      }
      if (alerting.after() != 1) {
        words.put("after", Integer.toString(alerting.after()));
      }
      if (alerting.cooldownNs() != 0) {
        words.put("cooldown", Literals.durationText(alerting.cooldownNs()));
      }
      words.put("severity", alerting.severity());
      return words;
    }

    private TriggerText withoutOnly() {
      return new TriggerText(when, group, "", everyNs, windowNs, alerting);
    }

    /**
     * Returns the processor that the grammar reads from {@link #text}. REQUIRES: {@link #isPlain}.
     */
    private Ast.Processor processor() {
      List<Ast.Argument> arguments = new ArrayList<>();
      arguments.add(argument("when", quoted(when)));
      if (!group.isEmpty()) {
        List<Ast.Word> words = group.stream().map(name -> word(name, name)).toList();
        arguments.add(new Ast.Argument(word("group", "group"), words, true));
      }
      if (!only.isBlank()) {
        arguments.add(argument("only", quoted(only)));
      }
      words().forEach((name, value) -> arguments.add(argument(name, word(value, value))));
      if (!alerting.clear().isBlank()) {
        arguments.add(argument("clear", quoted(alerting.clear())));
      }
      return new Ast.Processor(word("trigger", "trigger"), List.copyOf(arguments));
    }

    private static Ast.Argument argument(String name, Ast.Word value) {
      return new Ast.Argument(word(name, name), List.of(value), false);
    }

    private static Ast.Word quoted(String text) {
      return word(text, '"' + text + '"');
    }

    private static Ast.Word word(String text, String source) {
      return new Ast.Word(text, source, ANYWHERE);
    }

    /** Returns true if the grammar would parse each argument as the same text. */
    private boolean isPlain() {
      int length =
          when.length()
              + only.length()
              + alerting.clear().length()
              + group.stream().mapToInt(String::length).sum();
      return length < Syntax.LONGEST / 2
          && isPlain(when)
          && isPlain(only)
          && isPlain(alerting.clear());
    }

    private static boolean isPlain(String text) {
      for (int i = 0; i < text.length(); i++) {
        char c = text.charAt(i);
        if (c == '"' || c == '\\' || c == '\r' || c == '\n' || Character.isSurrogate(c)) {
          return false;
        }
      }
      return true;
    }
  }

  /**
   * The result for a list of triggers.
   *
   * @param triggers the triggers in order, up to the first invalid one
   * @param errors errors of the invalid trigger; empty if all triggers are valid, or if the stream
   *     job would test the invalid one
   */
  public record CompiledTriggers(List<PacketTrigger> triggers, List<QueryError> errors) {
    public CompiledTriggers {
      triggers = List.copyOf(triggers);
      errors = List.copyOf(errors);
    }
  }

  /**
   * Compiles the parts that all triggers have in common.
   *
   * @param clauses the query without PROCESS
   */
  public TriggerCompiler(
      String clauses, Catalogue catalogue, Inventory inventory, Compiler.Options options) {
    this.clauses = clauses;
    this.catalogue = catalogue;
    this.inventory = inventory;
    this.ownInventory = inventory.within(options.rights());
    this.options = options;
    this.context =
        query(EXAMPLE)
            .plan()
            .filter(TriggerCompiler::testsOneTrigger)
            .filter(plan -> plan.getTriggers(0).getParser().equals(plan.getParsers(0)))
            .filter(plan -> plan.getParsersCount() == 2);
    this.parser = context.flatMap(plan -> catalogue.parser(plan.getParsers(0))).orElse(null);
  }

  /** Compiles triggers in parallel, up to the first invalid one. */
  public CompiledTriggers compile(List<TriggerText> triggers) {
    List<Optional<PacketTrigger>> alone = triggers.parallelStream().map(this::alone).toList();
    List<PacketTrigger> compiled = new ArrayList<>();
    for (int i = 0; i < triggers.size(); i++) {
      if (alone.get(i).isPresent()) {
        compiled.add(alone.get(i).get());
        continue;
      }
      CompileResult whole = query(triggers.get(i));
      Optional<Plan> plan = whole.plan().filter(TriggerCompiler::testsOneTrigger);
      if (plan.isEmpty()) {
        return new CompiledTriggers(compiled, whole.errors());
      }
      compiled.add(plan.get().getTriggers(0));
    }
    return new CompiledTriggers(compiled, List.of());
  }

  /** Returns true if one monitor tests the plan's only trigger on packets. */
  private static boolean testsOneTrigger(Plan plan) {
    return plan.getTriggersCount() == 1 && !plan.getTriggers(0).getPartial();
  }

  private CompileResult query(TriggerText trigger) {
    return Compiler.compile(clauses + PROCESS + trigger.text(), catalogue, inventory, options);
  }

  /** Returns the compiled trigger; empty if it has to be compiled as a whole query. */
  Optional<PacketTrigger> alone(TriggerText trigger) {
    if (context.isEmpty() || !trigger.isPlain()) {
      return Optional.empty();
    }
    Optional<PacketTrigger> wide = wide(trigger.withoutOnly());
    return (trigger.only().isBlank() ? wide : wide.flatMap(all -> narrowed(all, trigger.only())))
        .filter(this::fits);
  }

  /** Compiles a trigger without {@code only=}, which many triggers share; empty if invalid. */
  private Optional<PacketTrigger> wide(TriggerText trigger) {
    Optional<PacketTrigger> known = wide.get(trigger);
    // Not computed atomically: two threads that compile the same trigger get the same result.
    if (known == null) {
      known = compiled(trigger);
      wide.put(trigger, known);
    }
    return known;
  }

  private Optional<PacketTrigger> compiled(TriggerText trigger) {
    Errors errors = errors();
    PacketTriggers packets = packets();
    return new ProcessorCompiler(List.of(parser), catalogue, ownInventory, options, packets, errors)
        .compile(trigger.processor(), 0)
        .filter(processor -> !errors.any())
        .map(processor -> packets.split(List.of(processor)).triggers())
        .filter(triggers -> triggers.size() == 1)
        .map(triggers -> triggers.get(0));
  }

  private Optional<PacketTrigger> narrowed(PacketTrigger trigger, String only) {
    Errors errors = errors();
    Fields fields = new Fields(List.of(parser), catalogue, errors);
    return new OnlyReader(fields, ownInventory, errors)
        .read(Optional.of(TriggerText.quoted(only)), parser)
        .filter(tree -> !errors.any())
        .flatMap(tree -> packets().narrowed(trigger, tree));
  }

  private Errors errors() {
    return new Errors(options.rights().scope().limits());
  }

  private PacketTriggers packets() {
    Plan plan = context.orElseThrow();
    return new PacketTriggers(plan.getSampling(), plan.getFiltersList());
  }

  /**
   * Returns true if a monitor has enough CPU time to test the trigger, or if the inventory does not
   * state the monitor's traffic.
   */
  private boolean fits(PacketTrigger trigger) {
    return ownInventory
        .traffic()
        .filter(traffic -> new TriggerCost(List.of(trigger)).busy(traffic) > TriggerCost.MAX_BUSY)
        .isEmpty();
  }
}
