package io.tapline.control.query;

import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.query.monitors.Monitors;
import io.tapline.control.query.monitors.QueryMonitor;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.TopicKeeper;
import io.tapline.control.query.services.TopicRights;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.flink.JobOptions;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the runs of new queries and of those that an earlier control plane started. */
final class Runs {
  private static final Logger LOG = LoggerFactory.getLogger(Runs.class);

  /** Up to this many running queries, jobs are checkpointed every second. */
  private static final int QUERIES_PER_CHECKPOINT = 12;

  private static final int MOST_CHECKPOINT_INTERVALS = 30;

  private final Backend backend;
  private final QueryStore store;
  private final TopicKeeper topics;
  private final Monitors monitors;
  private final QueryPlacements placements;
  private final MirrorAccounting accounting;
  private final IntSupplier running;

  /**
   * Runs that use these components.
   *
   * @param running returns the number of running queries
   */
  Runs(
      Backend backend,
      QueryStore store,
      TopicKeeper topics,
      Monitors monitors,
      QueryPlacements placements,
      MirrorAccounting accounting,
      IntSupplier running) {
    this.backend = backend;
    this.store = store;
    this.topics = topics;
    this.monitors = monitors;
    this.placements = placements;
    this.accounting = accounting;
    this.running = running;
  }

  /**
   * How a run starts.
   *
   * @param resumed whether an earlier control plane started it
   * @param refusal why it can't start; empty if it can
   */
  record Start(boolean resumed, String refusal, Source source) {}

  /** Creates a query that is about to run. */
  LiveQuery of(StateStore state, QueryRecord record, Start how, ProgressListener progress) {
    Plan plan = record.plan();
    Journal journal = new Journal(state, record, how.resumed());
    LiveQuery live = new LiveQuery(record.info(), Plans.toJson(plan), store, journal);
    QueryRun.Hooks hooks =
        new QueryRun.Hooks(
            new Steps(live, journal),
            store.access(),
            () -> mirror(live, journal),
            () -> store.results().progress(live.id()),
            () -> store.results().taken(live.id()));
    QueryRun.Launcher launcher = onReady -> launch(record, how, journal, progress, onReady);
    QueryRun.Identity identity =
        new QueryRun.Identity(
            JobID.fromHexString(record.job()),
            how.resumed(),
            checkpointInterval(running.getAsInt()),
            users(record, how.source()));
    boolean endless = how.source().live();
    live.runs(new QueryRun(plan, backend, topics, endless, launcher, progress, hooks, identity));
    return live;
  }

  /**
   * Returns the users of a query's topic: its monitors, and the job with the topics that its
   * triggers name.
   */
  private TopicRights.Users users(QueryRecord record, Source source) {
    Set<String> alertTopics =
        record.plan().getProcessorsList().stream()
            .flatMap(processor -> processor.getTrigger().getActionsList().stream())
            .map(Action::getTopic)
            .filter(TopicRights::mayTakeAlerts)
            .collect(Collectors.toSet());
    return new TopicRights.Users(monitors(record.hosts(), source), alertTopics);
  }

  /** Returns the monitors' Kafka users: the names of their hosts, or this host's login. */
  private Set<String> monitors(Set<String> hosts, Source source) {
    return source.hosts().isPresent()
        ? hosts
        : backend.access().monitors().stream()
            .map(each -> each.login().user())
            .collect(Collectors.toSet());
  }

  /**
   * A checkpoint costs the same however little its job does: a hundred jobs with one each second
   * would take half a core. The interval grows with the square of their number, so that all jobs
   * together stay below twenty checkpoints a second. With a longer interval, more is read again
   * after a failure.
   */
  static Duration checkpointInterval(int queries) {
    int dozens = 1 + queries / QUERIES_PER_CHECKPOINT;
    int intervals = Math.min(dozens * dozens, MOST_CHECKPOINT_INTERVALS);
    return JobOptions.defaults().checkpointInterval().multipliedBy(intervals);
  }

  private QueryMonitor launch(
      QueryRecord record, Start how, Journal journal, ProgressListener progress, Runnable onReady)
      throws IOException {
    if (!how.refusal().isEmpty()) {
      throw new IOException(how.refusal());
    }
    Optional<AgentRegistry> hosts = how.source().hosts();
    if (hosts.isEmpty()) {
      return monitors.start(record.plan(), how.source(), progress, onReady);
    }
    Moves moves = new Moves(record.id(), hosts.get(), journal);
    OptionalLong endsAtNs =
        RemotePart.endsAtNs(record.plan().getLimit(), record.info().startedNs(), LiveQuery.nowNs());
    RemoteMonitors.Bounds bounds =
        new RemoteMonitors.Bounds(
            endsAtNs, Integer.toUnsignedLong(record.plan().getLimit().getPackets()));
    return RemoteMonitors.start(
        hosts.get(), record.id(), record.parts(), how.resumed(), bounds, moves, onReady);
  }

  /** Runs when all of a query's monitors are capturing, for the first time or again. */
  private void mirror(LiveQuery live, Journal journal) {
    note(journal, QueryStep.MIRRORING);
    placements.mirror(
        live.id(),
        () -> {
          note(journal, QueryStep.RUNNING);
          live.enter(QueryState.RUNNING, "");
        },
        live.run().onMirrored());
  }

  private static void note(Journal journal, QueryStep step) {
    try {
      journal.step(step);
    } catch (IOException e) {
      LOG.error("{} can't be kept: {}", journal.record().id(), e.getMessage());
    }
  }

  /** Records the steps of a run. */
  private record Steps(LiveQuery live, Journal journal) implements QueryRun.Steps {
    @Override
    public void placed() throws IOException {
      journal.step(QueryStep.PLACED);
    }

    @Override
    public void ending(QueryState state, String error) {
      live.ending(state, error);
    }
  }

  /** Moves a query's parts within the network. */
  private final class Moves implements RemoteMonitors.Moves {
    private final String query;
    private final AgentRegistry hosts;
    private final Journal journal;

    Moves(String query, AgentRegistry hosts, Journal journal) {
      this.query = query;
      this.hosts = hosts;
      this.journal = journal;
    }

    @Override
    public Optional<Map<String, Match>> present() {
      return placements.parts(query);
    }

    @Override
    public Optional<Map<String, Match>> without(String host) {
      placements.close(host, RemoteMonitors.up(hosts));
      return placements.parts(query);
    }

    @Override
    public boolean narrow(int zeros) {
      return placements.narrow(query, zeros);
    }

    @Override
    public boolean isMirrored() {
      return placements.isMirrored(query);
    }

    @Override
    public CompletableFuture<Void> settled(Set<String> parts) {
      return placements.parts(query).isPresent()
          ? accounting.settled(parts)
          : CompletableFuture.completedFuture(null);
    }

    @Override
    public void moved(List<Plan> parts) throws IOException {
      journal.parts(parts);
      try {
        topics.move(journal.record().plan().getTopic(), journal.record().hosts());
      } catch (PipelineException e) {
        throw new IOException(e.getMessage(), e);
      }
    }
  }
}
