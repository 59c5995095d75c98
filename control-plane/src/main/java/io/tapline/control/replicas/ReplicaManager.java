package io.tapline.control.replicas;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.query.WindowResult;
import io.tapline.control.replicas.Updater.WantedState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Brings a pool to the state that its {@link Updater} wants, window by window.
 *
 * <p>A server gets requests only once it runs and has the pages, and is stopped only once it no
 * longer gets any. A change that fails is reported, and retried with a later window, except a
 * failed stop. Thread-safe.
 */
public final class ReplicaManager implements AutoCloseable {
  private static final double NS_PER_S = 1e9;

  /**
   * Number of pauses before copies are removed. They last more than twice as long as nginx may take
   * to notice a change (its timer is 200 ms).
   */
  private static final int DRAIN_PAUSES = 5;

  private final Pool pool;
  private final PoolStore store;
  private final Updater updater;
  private final ServerCommands commands = new ServerCommands();
  private final Replicator replicator = new Replicator();
  private final Consumer<Change> done;
  private final Consumer<String> failed;

  /** Numbers of the servers beyond the first that have a page, by URL. */
  private final Map<String, Set<Integer>> copies = new TreeMap<>();

  /** Pages that could not be copied and were reported. */
  private final Set<String> missing = new HashSet<>();

  private Map<String, List<String>> written = Map.of();

  private int servers = 1;
  private long lastWindowEndNs;

  private ReplicaManager(Pool pool, Consumer<Change> done, Consumer<String> failed) {
    this.pool = pool;
    this.store = new PoolStore(pool);
    this.updater = new Updater(pool.thresholds(), pool.servers().size());
    this.done = done;
    this.failed = failed;
  }

  /**
   * Takes over a pool in the state stored in Redis, or with only its first server if none is
   * stored.
   *
   * @param done receives changes
   * @param failed receives failures
   */
  public static ReplicaManager open(Pool pool, Consumer<Change> done, Consumer<String> failed) {
    ReplicaManager manager = new ReplicaManager(pool, done, failed);
    manager.written = manager.store.read();
    manager.written.forEach(manager::adopt);
    return manager;
  }

  private void adopt(String url, List<String> addresses) {
    for (int i = 1; i < pool.servers().size(); i++) {
      if (addresses.contains(pool.servers().get(i).address())) {
        copies.computeIfAbsent(url, ignored -> new TreeSet<>()).add(i);
        servers = Math.max(servers, i + 1);
      }
    }
  }

  /** Returns the number of servers in use. */
  public synchronized int servers() {
    return servers;
  }

  /**
   * Handles a window of the ranking; ignores a window without rows, which says nothing about
   * request rates.
   */
  public synchronized void look(WindowResult window) {
    if (window.rows().isEmpty()) {
      return;
    }
    double seconds = (window.windowEndNs() - window.windowStartNs()) / NS_PER_S;
    Map<String, Double> perSecond = new HashMap<>();
    for (JsonNode row : window.rows()) {
      String url = row.path("key").path("url").asText();
      if (Replicator.isPlain(url)) {
        perSecond.put(url, row.path("value").asDouble() / seconds);
      }
    }
    look(window.windowEndNs(), perSecond);
  }

  /** Handles a period without windows, in which there were no requests. */
  public synchronized void updateWithoutCounts(long elapsedNs) {
    look(lastWindowEndNs + elapsedNs, Map.of());
  }

  private void look(long windowEndNs, Map<String, Double> perSecond) {
    lastWindowEndNs = Math.max(lastWindowEndNs, windowEndNs);
    WantedState now = new WantedState(servers, copies.keySet());
    WantedState wanted = updater.next(windowEndNs, perSecond, now);
    try {
      if (wanted.servers() > servers) {
        commands.start(pool.servers().get(servers));
        servers++;
      }
      int stopped = wanted.servers() < servers ? servers-- : 0;
      boolean wasMoved;
      try {
        wasMoved = become(wanted);
      } catch (JedisException e) {
        // The pool in Redis is unchanged, and so are the servers that it needs.
        servers = now.servers();
        throw e;
      }
      if (stopped > 0) {
        commands.stop(pool.servers().get(stopped - 1));
      }
      if (wasMoved || stopped > 0 || wanted.servers() != now.servers()) {
        tell(windowEndNs, now.servers(), perSecond);
      }
    } catch (IOException e) {
      failed.accept(e.getMessage());
    } catch (JedisException e) {
      failed.accept("Redis does not answer: " + e.getMessage());
    }
  }

  /**
   * Copies missing pages, updates Redis, and only then removes copies that are no longer needed.
   */
  private boolean become(WantedState wanted) throws IOException {
    Map<String, Set<Integer>> previousReplicas = new HashMap<>();
    copies.forEach((url, on) -> previousReplicas.put(url, new TreeSet<>(on)));
    copies.keySet().retainAll(wanted.hot());
    copies.values().forEach(on -> on.removeIf(server -> server >= servers));
    for (String url : wanted.hot()) {
      for (int server = 1; server < servers; server++) {
        copy(url, server);
      }
    }
    copies.values().removeIf(Set::isEmpty);
    missing.removeIf(page -> !wanted.hot().contains(page.substring(page.indexOf('/'))));
    Map<String, List<String>> places = places();
    if (places.equals(written)) {
      return false;
    }
    store.write(places);
    written = places;
    removeCopies(previousReplicas);
    return true;
  }

  private void copy(String url, int server) {
    Set<Integer> on = copies.computeIfAbsent(url, ignored -> new TreeSet<>());
    if (on.contains(server)) {
      return;
    }
    try {
      replicator.copy(url, pool.servers().get(0), pool.servers().get(server));
      on.add(server);
    } catch (IOException e) {
      if (missing.add(server + url)) {
        failed.accept(e.getMessage());
      }
    }
  }

  private Map<String, List<String>> places() {
    Map<String, List<String>> places = new TreeMap<>();
    copies.forEach(
        (url, on) -> {
          List<String> addresses = new ArrayList<>(List.of(pool.servers().get(0).address()));
          on.forEach(server -> addresses.add(pool.servers().get(server).address()));
          places.put(url, addresses);
        });
    return places;
  }

  private void removeCopies(Map<String, Set<Integer>> previousReplicas) throws IOException {
    previousReplicas.forEach((url, on) -> on.removeAll(copies.getOrDefault(url, Set.of())));
    previousReplicas.values().removeIf(Set::isEmpty);
    for (int i = 0; i < DRAIN_PAUSES && !previousReplicas.isEmpty(); i++) {
      ServerCommands.pause();
    }
    for (Map.Entry<String, Set<Integer>> entry : previousReplicas.entrySet()) {
      for (int server : entry.getValue()) {
        try {
          replicator.remove(entry.getKey(), pool.servers().get(server));
        } catch (IOException e) {
          failed.accept(e.getMessage());
        }
      }
    }
  }

  private void tell(long timeNs, int previousCount, Map<String, Double> perSecond) {
    String peak =
        perSecond.entrySet().stream()
            .max(Map.Entry.comparingByValue())
            .map(busiest -> format("%s at %.1f/s", busiest.getKey(), busiest.getValue()))
            .orElse("no requests");
    String previousServers = previousCount == 1 ? "1 server" : previousCount + " servers";
    Change change = new Change(timeNs, servers, copies.size(), peak + " on " + previousServers);
    store.note(change);
    done.accept(change);
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }

  /** Reduces the pool to its first server. */
  @Override
  public synchronized void close() {
    try {
      int running = servers;
      servers = 1;
      become(WantedState.SINGLE);
      while (running > 1) {
        commands.stop(pool.servers().get(--running));
      }
    } catch (IOException | JedisException e) {
      failed.accept(e.getMessage());
    }
  }
}
