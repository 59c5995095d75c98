package io.tapline.control.query;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.TriggerCompiler;
import io.tapline.compiler.access.Rights;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.network.NetworkPlan;
import io.tapline.compiler.network.StreamLayout;
import io.tapline.compiler.network.Traffic;
import io.tapline.compiler.packets.SplitTriggers;
import io.tapline.compiler.packets.TriggerCost;
import io.tapline.compiler.packets.TupleTriggers;
import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.taps.PortNames;
import io.tapline.compiler.text.Note;
import io.tapline.control.PipelineException;
import io.tapline.control.query.monitors.PartPlans;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.StreamSites;
import io.tapline.control.query.services.Topics;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Stream;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Compiles queries into plans, and places them in the inventory's network. */
public final class QueryPlanner {
  private static final Logger LOG = LoggerFactory.getLogger(QueryPlanner.class);
  private static final DateTimeFormatter ID_TIME =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final Catalogue catalogue;
  private final Inventory inventory;
  private final PortNames ports;
  private final QueryPlacements placements;
  private final StreamSites sites;
  private final Topics topics;

  QueryPlanner(
      Catalogue catalogue,
      Inventory inventory,
      QueryPlacements placements,
      StreamSites sites,
      Topics topics) {
    this.sites = sites;
    this.topics = topics;
    this.catalogue = catalogue;
    this.inventory = inventory;
    this.ports = new PortNames(inventory.ports());
    this.placements = placements;
  }

  /** Returns the parsers that queries can name. */
  public Catalogue catalogue() {
    return catalogue;
  }

  /** Returns the names of the ports in the inventory's network. */
  PortNames ports() {
    return ports;
  }

  /**
   * Returns lines that explain how switches copy packets to a query that must see all traffic;
   * empty for other queries, and if the copies' format is unknown.
   */
  public String copies(Plan plan) {
    return CopyExplain.text(plan, placements.copyFormat());
  }

  /**
   * A query as it would run.
   *
   * @param result the plan, with monitors and mirror rules as far as they can be placed; or the
   *     errors
   * @param placement placement in the network, alongside the running queries; empty if there is
   *     none
   */
  public record Preview(CompileResult result, Optional<NetworkPlan> placement) {}

  /**
   * Compiles and places a query, without reserving anything or running it.
   *
   * @param source source that the query would read; empty if queries can't be submitted
   * @throws PipelineException if Kafka does not report which of the query's alert topics exist
   */
  public Preview preview(String text, Rights rights, Optional<Source> source)
      throws PipelineException {
    CompileResult local = compile(text, rights, source);
    if (local.plan().isEmpty()) {
      return new Preview(local, Optional.empty());
    }
    Plan plan = local.plan().get();
    if (plan.getQueuesCount() > 0) {
      Optional<CopyPlan> queues =
          source.flatMap(inputs -> queues(plan, inputs, placements::previewCopies));
      return previewCopied(local, source, queues.orElse(new CopyPlan(plan, "", false)));
    }
    Optional<CopyPlan> traffic =
        source.flatMap(inputs -> traffic(plan, inputs, placements::previewTraffic));
    if (traffic.isPresent()) {
      return previewCopied(local, source, traffic.get());
    }
    Optional<AgentRegistry> mirrored =
        source.flatMap(Source::networkHosts).filter(ignored -> isMirrored(plan));
    QueryPlacements.Outcome outcome =
        withoutForeignNames(
            placements.preview(plan.getQuery(), plan.getMatch(), mirrored.map(PartPlans::up)),
            rights);
    Plan placedPlan =
        mirrored.isEmpty()
            ? outcome
                .plan()
                .map(place -> asIfMirrored(plan, place))
                .orElse(withMonitors(plan, source, Optional.empty()))
            : withMonitors(plan, source, outcome.plan());
    Plan complete = source.isPresent() ? withStream(placedPlan) : placedPlan;
    return new Preview(
        new CompileResult(
            Optional.of(complete), notes(local, outcome, complete, source), List.of()),
        outcome.plan().map(place -> StreamLayout.of(place, complete.getStream())));
  }

  private List<Note> notes(
      CompileResult local, QueryPlacements.Outcome outcome, Plan plan, Optional<Source> source) {
    List<Note> notes = notes(local, outcome);
    source.flatMap(inputs -> polledTimes(plan, inputs)).ifPresent(notes::add);
    source
        .map(Source::unavailable)
        .filter(reason -> !reason.isEmpty())
        .ifPresent(reason -> notes.add(Note.warning(reason)));
    String split = splitTriggers(plan);
    if (!split.isEmpty()) {
      notes.add(Note.warning("the query can't start: " + split));
    }
    return notes;
  }

  private Preview previewCopied(CompileResult local, Optional<Source> source, CopyPlan copied) {
    Plan placedPlan = withMonitors(copied.plan(), source, Optional.empty());
    Plan complete = source.isPresent() ? withStream(placedPlan) : placedPlan;
    QueryPlacements.Outcome outcome =
        new QueryPlacements.Outcome(Optional.empty(), copied.refusal());
    return new Preview(
        new CompileResult(
            Optional.of(complete), notes(local, outcome, complete, source), List.of()),
        Optional.empty());
  }

  /**
   * The plan of a query that measures queues or all traffic.
   *
   * @param plan the plan with the hosts and marks of the queues that switches copy, or with the
   *     collectors of their traffic
   * @param refusal reason why switches can't copy; empty if they can
   * @param copied true if switches copy anything
   */
  private record CopyPlan(Plan plan, String refusal, boolean copied) {}

  private interface CollectorReservation {
    QueryPlacements.CollectorRules place(String query, Traffic traffic);
  }

  /** Returns the plan with its collectors; empty if it needs none, or no agent can be one. */
  private Optional<CopyPlan> traffic(Plan plan, Source source, CollectorReservation collecting) {
    Traffic traffic =
        source
            .networkHosts()
            .filter(ignored -> TrafficCollectors.wants(plan))
            .map(hosts -> TrafficCollectors.find(plan, hosts.states(), placements::monitorsAt))
            .orElse(TrafficCollectors.NONE);
    if (traffic.collectors().isEmpty()) {
      return Optional.empty();
    }
    QueryPlacements.CollectorRules collected = collecting.place(plan.getQuery(), traffic);
    Plan placedPlan = TrafficCollectors.placed(plan, traffic, collected.rules());
    return Optional.of(new CopyPlan(placedPlan, collected.refusal(), true));
  }

  private interface CopyReservation {
    QueryPlacements.Copies place(String query, List<Queue> queues, Set<String> hosts);
  }

  /**
   * Returns the plan with a host and a mark for each queue that no agent's taps show; empty if
   * there is no such queue, or switches do not mirror.
   */
  private Optional<CopyPlan> queues(Plan plan, Source source, CopyReservation copying) {
    Optional<AgentRegistry> hosts = source.networkHosts().filter(ignored -> placements.mirrors());
    List<Queue> untapped =
        hosts.map(host -> PartPlans.untapped(plan, host, ports)).orElse(List.of());
    if (untapped.isEmpty()) {
      return Optional.empty();
    }
    Set<String> up = PartPlans.up(hosts.orElseThrow());
    QueryPlacements.Copies copies = copying.place(plan.getQuery(), untapped, up);
    if (!copies.refusal().isEmpty()) {
      return Optional.of(new CopyPlan(plan, copies.refusal(), true));
    }
    List<Queue> all = new ArrayList<>(plan.getQueuesList());
    all.removeAll(untapped);
    all.addAll(copies.queues());
    Plan placedPlan =
        plan.toBuilder()
            .clearQueues()
            .addAllQueues(all)
            .clearRules()
            .addAllRules(copies.rules())
            .build();
    return Optional.of(new CopyPlan(placedPlan, "", true));
  }

  /**
   * A compiled query, and the result of reserving its resources.
   *
   * @param refusal reason why the query can't start; empty if it can
   */
  record Reservation(QueryRecord record, String refusal) {}

  /**
   * Returns a compiler for one owner's packet triggers. The compiler does not choose their hosts.
   *
   * @param clauses the clauses of the triggers' query except PROCESS
   */
  public TriggerCompiler triggerCompiler(String clauses, Source source, Rights rights) {
    Compiler.Options options =
        Compiler.Options.local(newId(rights.tenant()), rights).withTaps(taps(source));
    return new TriggerCompiler(clauses, catalogue, inventory, options);
  }

  /**
   * Compiles a query and reserves its resources in the network until they are released.
   *
   * @param groups maximum number of groups that the query's triggers count separately in a window
   */
  Reservation reserve(String text, Source source, Rights rights, long groups)
      throws QueryRejected, PipelineException {
    CompileResult compiled = bounded(compile(text, rights, Optional.of(source)), groups);
    if (compiled.plan().isEmpty()) {
      throw new QueryRejected(text, compiled.errors());
    }
    Plan local = compiled.plan().get();
    try {
      if (local.getQueuesCount() > 0) {
        Optional<CopyPlan> queues = queues(local, source, placements::reserveCopies);
        return copyReservation(compiled, source, queues.orElse(new CopyPlan(local, "", false)));
      }
      Optional<CopyPlan> traffic = traffic(local, source, placements::reserveTraffic);
      if (traffic.isPresent()) {
        return copyReservation(compiled, source, traffic.get());
      }
      // Only agents' monitors receive mirrored packets.
      Optional<AgentRegistry> mirrored = source.networkHosts().filter(ignored -> isMirrored(local));
      QueryPlacements.Outcome outcome =
          withoutForeignNames(
              placements.reserve(local.getQuery(), local.getMatch(), mirrored.map(PartPlans::up)),
              rights);
      return reservation(compiled, source, outcome, mirrored.isPresent());
    } catch (RuntimeException e) {
      placements.release(local.getQuery());
      throw e;
    }
  }

  /** Returns the result with a bound on the groups of triggers, if it is less than usual. */
  private static CompileResult bounded(CompileResult compiled, long groups) {
    boolean isBounded =
        groups < TriggerCost.MAX_GROUPS
            && compiled.plan().filter(plan -> plan.getTriggersCount() > 0).isPresent();
    if (!isBounded) {
      return compiled;
    }
    List<Note> notes = new ArrayList<>(compiled.notes());
    notes.add(
        Note.warning(
            "triggers count at most %d groups of a window separately, the quota of your tenant, and all others together"
                .formatted(groups)));
    return new CompileResult(
        compiled.plan().map(plan -> plan.toBuilder().setTriggerGroups((int) groups).build()),
        notes,
        compiled.errors());
  }

  private Reservation copyReservation(CompileResult compiled, Source source, CopyPlan copied) {
    CompileResult placedResult =
        new CompileResult(Optional.of(copied.plan()), compiled.notes(), compiled.errors());
    Reservation madeReservation =
        reservation(placedResult, source, QueryPlacements.Outcome.NOTHING, false);
    QueryRecord record = madeReservation.record();
    return new Reservation(
        new QueryRecord(
            record.info(),
            record.job(),
            record.plan(),
            copied.copied(),
            record.parts(),
            record.stopping()),
        copied.refusal().isEmpty() ? madeReservation.refusal() : copied.refusal());
  }

  /** Returns true if switches copy the packets that a query's match selects. */
  private boolean isMirrored(Plan plan) {
    return placements.mirrors() && plan.getQueuesCount() == 0;
  }

  private List<Plan> parts(Plan plan, AgentRegistry hosts, Optional<NetworkPlan> place) {
    return plan.getQueuesCount() > 0
        ? PartPlans.queueParts(plan, hosts, ports)
        : PartPlans.parts(plan, place.map(NetworkPlan::parts).orElse(Map.of()));
  }

  private Reservation reservation(
      CompileResult compiled, Source source, QueryPlacements.Outcome outcome, boolean mirrored) {
    Optional<NetworkPlan> place = outcome.plan().filter(network -> mirrored);
    Plan plan = withStream(withMonitors(compiled.plan().orElseThrow(), Optional.of(source), place));
    List<Plan> parts =
        source.hosts().isEmpty() ? List.of() : parts(plan, source.hosts().get(), place);
    QueryInfo query =
        QueryInfo.submitted(
            plan.getQuery(), plan.getText(), messages(compiled, outcome, plan, source));
    return new Reservation(
        new QueryRecord(query, new JobID().toHexString(), plan, mirrored, parts, false),
        mirrored && place.isEmpty() ? outcome.refusal() : splitTriggers(plan));
  }

  /** Returns why a plan's triggers can't run in its monitors; empty if they can. */
  private static String splitTriggers(Plan plan) {
    return SplitTriggers.obstacles(plan).entrySet().stream()
        .findFirst()
        .map(
            obstacle ->
                "%d monitors capture the packets of processor %d, and %s: use another condition, every=10ms or more, or a narrower FROM and TO"
                    .formatted(plan.getMonitorsCount(), obstacle.getKey() + 1, obstacle.getValue()))
        .orElse("");
  }

  /**
   * Hides the reason for a refusal from a caller with limited rights, since it may name other
   * tenants' hosts.
   */
  private static QueryPlacements.Outcome withoutForeignNames(
      QueryPlacements.Outcome outcome, Rights rights) {
    if (outcome.refusal().isEmpty() || rights.scope().isEverything()) {
      return outcome;
    }
    LOG.info("refused for tenant {}: {}", rights.tenant(), outcome.refusal());
    return new QueryPlacements.Outcome(
        outcome.plan(),
        "not placed in the inventory's network: ask the administrators of this server");
  }

  /**
   * Compiles a query, and compiles it again if its alert topics are missing, so that the error
   * points at the topic.
   */
  private CompileResult compile(String text, Rights rights, Optional<Source> source)
      throws PipelineException {
    Compiler.Options anyOptions = Compiler.Options.local(newId(rights.tenant()), rights);
    Compiler.Options options =
        source
            .filter(inputs -> inputs.unavailable().isEmpty())
            .map(inputs -> anyOptions.withTaps(taps(inputs)))
            .orElse(anyOptions);
    CompileResult compiled = Compiler.compile(text, catalogue, inventory, options);
    Set<String> wanted = compiled.plan().map(QueryPlanner::alertTopics).orElse(Set.of());
    Set<String> missing = wanted.isEmpty() ? Set.of() : topics.missing(wanted);
    return missing.isEmpty()
        ? compiled
        : Compiler.compile(text, catalogue, inventory, options.withMissingTopics(missing));
  }

  private KnownTaps taps(Source source) {
    KnownTaps knownTaps = source.knownTaps(ports);
    return source.networkHosts().isPresent() && placements.mirrors()
        ? knownTaps.withCopies()
        : knownTaps;
  }

  private static Set<String> alertTopics(Plan plan) {
    return plan.getProcessorsList().stream()
        .flatMap(processor -> processor.getTrigger().getActionsList().stream())
        .map(Action::getTopic)
        .filter(topic -> !topic.isEmpty())
        .collect(Collectors.toSet());
  }

  private static String newId(String tenant) {
    return "%s-%s-%06x"
        .formatted(
            tenant, ID_TIME.format(Instant.now()), ThreadLocalRandom.current().nextInt(1 << 24));
  }

  /** Returns the plan as it would be if switches mirrored its packets. */
  private static Plan asIfMirrored(Plan plan, NetworkPlan network) {
    return shared(
        plan.toBuilder()
            .clearMonitors()
            .addAllMonitors(network.placed().monitors())
            .clearRules()
            .addAllRules(network.placed().rules())
            .build());
  }

  private Plan withStream(Plan plan) {
    Stream stream = sites.choose(plan);
    return stream.equals(Stream.getDefaultInstance())
        ? plan
        : plan.toBuilder().setStream(stream).build();
  }

  private Plan withMonitors(Plan plan, Optional<Source> source, Optional<NetworkPlan> place) {
    Plan placedPlan =
        place
            .map(network -> PartPlans.placed(plan, network))
            .or(
                () ->
                    source.flatMap(
                        inputs -> inputs.hosts().map(hosts -> watched(plan, inputs, hosts))))
            .orElse(plan);
    return shared(placedPlan);
  }

  /** Returns the plan with triggers that its monitors can test together. */
  private static Plan shared(Plan plan) {
    boolean canSplit = SplitTriggers.obstacles(plan).isEmpty();
    return TupleTriggers.inMonitors(canSplit ? SplitTriggers.split(plan) : plan);
  }

  private Plan watched(Plan plan, Source source, AgentRegistry hosts) {
    if (source.local()) {
      return PartPlans.local(plan, hosts);
    }
    if (TrafficCollectors.has(plan)) {
      return plan;
    }
    return plan.getQueuesCount() > 0
        ? PartPlans.atQueues(plan, hosts, ports)
        : PartPlans.everywhere(plan, hosts);
  }

  private List<String> messages(
      CompileResult compiled, QueryPlacements.Outcome outcome, Plan plan, Source source) {
    List<Note> notes = notes(compiled, outcome);
    source
        .hosts()
        .flatMap(hosts -> Clocks.note(plan, hosts.states()))
        .ifPresent(note -> notes.add(Note.warning(note)));
    polledTimes(plan, source).ifPresent(notes::add);
    return notes.stream().map(Note::message).toList();
  }

  private Optional<Note> polledTimes(Plan plan, Source source) {
    boolean queues =
        plan.getParsersList().stream()
            .anyMatch(name -> catalogue.parser(name).filter(ParserInfo::queues).isPresent());
    return source
        .hosts()
        .filter(hosts -> queues)
        .flatMap(hosts -> PolledTimes.note(plan, hosts.states()))
        .map(Note::warning);
  }

  private static List<Note> notes(CompileResult compiled, QueryPlacements.Outcome outcome) {
    List<Note> notes = new ArrayList<>(compiled.notes());
    if (!outcome.refusal().isEmpty()) {
      notes.add(Note.warning(outcome.refusal()));
    }
    return notes;
  }
}
