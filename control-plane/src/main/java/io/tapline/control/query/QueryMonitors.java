package io.tapline.control.query;

import io.tapline.control.PipelineException;
import io.tapline.control.ProgressListener;
import io.tapline.control.WallClock;
import io.tapline.control.query.monitors.OwnMonitor;
import io.tapline.control.query.monitors.PartPlacement;
import io.tapline.control.query.monitors.PartPlans;
import io.tapline.control.query.monitors.QueryMonitor;
import io.tapline.control.query.monitors.RemoteMonitors;
import io.tapline.control.query.monitors.RemotePart;
import io.tapline.control.query.sampling.SamplingWatch;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.TriggerSet;
import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Queue;
import io.tapline.schema.proto.Sampling;
import io.tapline.schema.rpc.MonitorStatus;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One query's monitors, on this host or on agents' hosts: starts and ends them, and chooses the
 * agents' hosts. Thread-safe.
 */
final class QueryMonitors implements PartPlacement {
  /** Time that a monitor may take to flush after it was asked to end. */
  private static final long FLUSH_SECONDS = 10;

  private final Query query;
  private final QueryEnvironment environment;
  private final Query.Start start;
  private final ProgressListener progress;
  private QueryMonitor monitor;
  private SamplingWatch sampling;
  private boolean stopRequested;

  /** Action that sets the triggers of a newly started monitor. */
  private Consumer<QueryMonitor> triggers = started -> {};

  QueryMonitors(
      Query query, QueryEnvironment environment, Query.Start start, ProgressListener progress) {
    this.query = query;
    this.environment = environment;
    this.start = start;
    this.progress = progress;
  }

  /**
   * Starts the monitors, unless the query has already been asked to stop. Monitors that an earlier
   * control plane started have already seen packets, so they are taken over even then, and asked to
   * end.
   *
   * @param job progress of the stream job, for {@code SAMPLE auto}
   * @param onCapturing called once all monitors capture, and again after a part has moved to
   *     another host
   * @return true if there is a monitor
   */
  synchronized boolean start(SamplingWatch.Gauge job, Runnable onCapturing) throws IOException {
    if (stopRequested && !start.resumed()) {
      return false;
    }
    monitor = launch(onCapturing);
    triggers.accept(monitor);
    Sampling sample = query.record().plan().getSampling();
    if (stopRequested) {
      monitor.stop();
      scheduleKill();
    } else if (sample.getMode() == Sampling.Mode.AUTO) {
      double allowed = sample.getRate() > 0 ? sample.getRate() : 1;
      sampling = new SamplingWatch(query.id(), allowed, job, monitor::limit).start();
    }
    return true;
  }

  private QueryMonitor launch(Runnable onCapturing) throws IOException {
    if (!start.refusal().isEmpty()) {
      throw new IOException(start.refusal());
    }
    QueryRecord record = query.record();
    Optional<AgentRegistry> hosts = start.source().hosts();
    if (hosts.isEmpty()) {
      return overFiles(record.plan(), onCapturing);
    }
    Limit limit = record.plan().getLimit();
    OptionalLong endsAtNs =
        RemotePart.endsAtNs(limit, record.info().startedNs(), WallClock.nowNs());
    return RemoteMonitors.start(
        hosts.get(),
        record.id(),
        record.parts(),
        start.resumed(),
        new RemoteMonitors.Bounds(endsAtNs, Integer.toUnsignedLong(limit.getPackets())),
        this,
        onCapturing);
  }

  private QueryMonitor overFiles(Plan plan, Runnable onCapturing) throws IOException {
    OwnMonitor startedMonitor =
        OwnMonitor.start(environment.backend(), plan, start.source(), progress, onCapturing);
    environment.fileMonitors().incrementAndGet();
    startedMonitor
        .end()
        .whenComplete((none, error) -> environment.fileMonitors().decrementAndGet());
    return startedMonitor;
  }

  /**
   * Returns the action of {@link QueryMonitor#onMirrored}, which does nothing without a monitor.
   */
  synchronized Runnable onMirrored() {
    return monitor == null ? () -> {} : monitor.onMirrored();
  }

  /**
   * Replaces the triggers as {@link QueryMonitor#triggers} does, including those of monitors that
   * start later.
   */
  synchronized void triggers(TriggerSet set, Consumer<MonitorStatus.Triggers> responses) {
    triggers = started -> started.triggers(set, responses);
    if (monitor != null) {
      triggers.accept(monitor);
    }
  }

  /** Completes when capturing has ended. REQUIRES: {@link #start} returned true. */
  synchronized CompletableFuture<Void> end() {
    return monitor.end();
  }

  /** Returns true if the monitors were killed. REQUIRES: {@link #start} returned true. */
  synchronized boolean killed() {
    return monitor.killed();
  }

  /** Asks the monitors to flush and end, now or as soon as they have started. Idempotent. */
  synchronized void stop() {
    if (stopRequested) {
      return;
    }
    stopRequested = true;
    if (monitor != null) {
      monitor.stop();
      scheduleKill();
    }
  }

  synchronized boolean isStopRequested() {
    return stopRequested;
  }

  /** Kills the monitors after {@link #FLUSH_SECONDS}, unless they have ended by then. */
  synchronized void scheduleKill() {
    CompletableFuture.delayedExecutor(FLUSH_SECONDS, TimeUnit.SECONDS).execute(monitor::kill);
  }

  /** Ends all monitors immediately. */
  void close() {
    SamplingWatch watch;
    QueryMonitor startedMonitor;
    synchronized (this) {
      watch = sampling;
      startedMonitor = monitor;
    }
    if (watch != null) {
      watch.close();
    }
    if (startedMonitor != null) {
      startedMonitor.kill();
    }
  }

  /**
   * Returns the packets that each host counts; empty if switches mirror nothing for the query, and
   * for agents of this host, whose interface sees the packets without mirroring.
   */
  @Override
  public Optional<Map<String, Match>> current() {
    return start.source().local() ? Optional.empty() : environment.placements().parts(query.id());
  }

  @Override
  public Optional<Map<String, Match>> without(String host) {
    start
        .source()
        .networkHosts()
        .ifPresent(hosts -> environment.placements().close(host, PartPlans.up(hosts)));
    return current();
  }

  @Override
  public Optional<List<Queue>> moveQueues(List<Queue> queues, Set<String> used) {
    return start
        .source()
        .networkHosts()
        .flatMap(
            hosts -> {
              Set<String> free = new TreeSet<>(PartPlans.up(hosts));
              free.removeAll(used);
              return environment.placements().moveCopies(query.id(), queues, free);
            });
  }

  @Override
  public boolean narrow(int zeros) {
    return environment.placements().narrow(query.id(), zeros);
  }

  @Override
  public boolean isMirrored() {
    return environment.placements().isMirrored(query.id());
  }

  @Override
  public CompletableFuture<Void> settled(Set<String> hosts) {
    return current().isPresent() || environment.placements().copiesFor(query.id())
        ? environment.accounting().settled(hosts)
        : CompletableFuture.completedFuture(null);
  }

  @Override
  public void record(List<Plan> parts) throws IOException {
    QueryRecord moved = query.move(parts);
    try {
      environment.topics().move(moved.plan().getTopic(), moved.hosts());
    } catch (PipelineException e) {
      throw new IOException(e.getMessage(), e);
    }
  }
}
