package io.tapline.control.accounting;

import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.LeaseListener;
import io.tapline.sdn.mirror.MirrorCount;
import io.tapline.sdn.mirror.NetworkAdapter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the packets that switches copied to hosts with those that their monitors received, and
 * reports the missing packets to the monitors, which attribute them to their queries as {@code
 * mirror_lost}. Thread-safe; a dedicated thread does all the work.
 */
public final class MirrorAccounting implements LeaseListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MirrorAccounting.class);
  private static final long TICK_MS = 1_000;
  private static final long TICK_WAITED_FOR_MS = 100;

  /** Maximum time that the end of a query waits for counters and for packets in flight. */
  private static final long MAX_WAITING_NS = 6_000_000_000L;

  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(MirrorAccounting::daemon);
  private final Map<String, CopyBalance> balances = new HashMap<>();
  private final Map<String, Long> reportedLosses = new HashMap<>();
  private final List<WaitingReport> waiting = new ArrayList<>();
  private NetworkAdapter network;
  private AgentRegistry agents;

  private record WaitingReport(
      Map<String, Long> lost, long requestedNs, CompletableFuture<Void> done) {}

  /**
   * The counts of one host since its first flow began to count.
   *
   * @param copied packets that switches copied; their counters lag by one to two seconds
   * @param received packets received, for any query
   * @param lost packets lost in this incarnation of the host's monitor
   */
  public record Copies(long copied, long received, long lost) {}

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "mirror-accounting");
    thread.setDaemon(true);
    return thread;
  }

  /** Starts polling the switches of this network and reporting to these agents' monitors. */
  public void begin(NetworkAdapter adapter, AgentRegistry registry) {
    run(
        () -> {
          network = adapter;
          agents = registry;
          schedule(TICK_MS);
        });
  }

  /**
   * Returns a future that completes once the packets copied to these hosts until now have arrived
   * or are known to be lost, or after six seconds.
   */
  public CompletableFuture<Void> settled(Set<String> hosts) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    run(
        () -> {
          Map<String, Long> lost = new HashMap<>();
          hosts.stream()
              .filter(balances::containsKey)
              .forEach(host -> lost.put(host, balances.get(host).lost()));
          if (network == null || lost.isEmpty()) {
            done.complete(null);
            return;
          }
          waiting.add(new WaitingReport(lost, System.nanoTime(), done));
          network.recount();
          if (waiting.size() == 1) {
            schedule(TICK_WAITED_FOR_MS);
          }
        });
    return done;
  }

  @Override
  public void copies(String agent, long incarnation, long packets, long untilNs) {
    run(
        () -> {
          balances
              .computeIfAbsent(agent, name -> new CopyBalance())
              .received(incarnation, packets, untilNs);
          report(agent);
        });
  }

  @Override
  public void up(String agent, String multilog) {}

  @Override
  public void lost(String agent) {}

  @Override
  public void forgotten(String agent) {
    run(
        () -> {
          balances.remove(agent);
          waiting.forEach(waiter -> waiter.lost().remove(agent));
          reportedLosses.remove(agent);
        });
  }

  /** Returns the counts by host; hosts without counts are missing. */
  public Map<String, Copies> copies() {
    try {
      return thread
          .submit(
              () -> {
                Map<String, Copies> all = new TreeMap<>();
                balances.forEach(
                    (host, balance) -> balance.now().ifPresent(now -> all.put(host, now)));
                return all;
              })
          .get();
    } catch (ExecutionException | RejectedExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private void run(Runnable task) {
    try {
      thread.execute(() -> guarded(task));
    } catch (RejectedExecutionException e) {
      LOG.debug("ignored after closing", e);
    }
  }

  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("internal error in the accounting of mirrored packets", e);
    }
  }

  private void schedule(long afterMs) {
    try {
      thread.schedule(() -> guarded(() -> tick(afterMs)), afterMs, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      LOG.debug("ignored after closing", e);
    }
  }

  /** Polls once. Regular polling continues forever, faster polling only while a query waits. */
  private void tick(long everyMs) {
    try {
      read();
      release();
    } finally {
      if (everyMs == TICK_MS || !waiting.isEmpty()) {
        schedule(everyMs);
      }
    }
  }

  private void read() {
    if (balances.isEmpty()) {
      return;
    }
    List<MirrorCount> counts = network.counts();
    balances.forEach(
        (host, balance) ->
            balance.copied(counts.stream().filter(count -> count.hosts().contains(host)).toList()));
  }

  private void report(String host) {
    CopyBalance balance = balances.get(host);
    long previousLosses = reportedLosses.getOrDefault(host, 0L);
    if (agents != null && balance.lost() != previousLosses) {
      reportedLosses.put(host, balance.lost());
      agents.lose(host, balance.incarnation(), balance.lost());
      if (balance.lost() > previousLosses) {
        LOG.warn("{} copies to {} were lost in transit", balance.lost() - previousLosses, host);
      }
    }
  }

  private void release() {
    long nowNs = System.nanoTime();
    for (WaitingReport waiter : List.copyOf(waiting)) {
      boolean hasSettled =
          waiter.lost().entrySet().stream()
              .allMatch(
                  host ->
                      balances.get(host.getKey()).isSettled(waiter.requestedNs(), host.getValue()));
      if (hasSettled || nowNs - waiter.requestedNs() > MAX_WAITING_NS) {
        waiting.remove(waiter);
        waiter.done().complete(null);
      }
    }
  }

  /** Releases all waiting queries. */
  @Override
  public void close() {
    run(() -> waiting.forEach(waiter -> waiter.done().complete(null)));
    thread.shutdown();
  }
}
