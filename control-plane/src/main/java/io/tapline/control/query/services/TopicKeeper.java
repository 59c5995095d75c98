package io.tapline.control.query.services;

import io.tapline.control.PipelineException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes topics: those of ended queries after their retention time, and orphans of crashed
 * servers. Thread-safe.
 *
 * <p>Monitors send heartbeats, so a topic without new records is an orphan. Servers therefore need
 * not know each other.
 */
public final class TopicKeeper implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TopicKeeper.class);
  private static final long LONGEST_PERIOD_MS = 60_000;

  /** Record count of a topic that no longer exists but still has ACLs. */
  private static final long GONE = -1;

  /**
   * The number of records in another server's topic, and the time at which its last change was
   * observed.
   */
  private record Rest(long written, long sinceNs) {}

  private final Topics topics;
  private final TopicPolicy policy;
  private final Set<String> ours = ConcurrentHashMap.newKeySet();
  private final Set<String> leaving = ConcurrentHashMap.newKeySet();
  private final Map<String, Rest> foreign = new HashMap<>();
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "topic-keeper");
            thread.setDaemon(true);
            return thread;
          });

  public TopicKeeper(Topics topics, TopicPolicy policy) {
    this.topics = topics;
    this.policy = policy;
    long period = Math.min(LONGEST_PERIOD_MS, Math.max(1, policy.orphanAfter().toMillis() / 4));
    clock.scheduleWithFixedDelay(this::lookForOrphans, period, period, TimeUnit.MILLISECONDS);
  }

  /** Creates the topic for one of this server's queries. */
  public void create(Topics.WantedTopic wanted) throws PipelineException {
    ours.add(wanted.topic());
    topics.create(wanted, policy);
  }

  /** Creates the topic, or takes it over if an earlier control plane has created it. */
  public void resume(Topics.WantedTopic wanted) throws PipelineException {
    ours.add(wanted.topic());
    if (topics.ofQueries().contains(wanted.topic())) {
      topics.rights().regrant(wanted.topic(), wanted.users());
    } else {
      topics.create(wanted, policy);
    }
  }

  /** Allows exactly these monitors to write to one of this server's topics. */
  public void move(String topic, Set<String> monitors) throws PipelineException {
    topics.rights().move(topic, monitors);
  }

  /** Returns the number of records written to a topic since it was created. */
  public long written(String topic) throws PipelineException {
    return topics.written(topic);
  }

  /** Revokes all rights on a topic and deletes it after its retention time, which may be zero. */
  public void retire(String topic) throws PipelineException {
    Duration kept = policy.keptAfterEnd();
    if (kept.isZero()) {
      topics.delete(topic);
      ours.remove(topic);
      return;
    }
    leaving.add(topic);
    topics.rights().revoke(topic).await();
    clock.schedule(() -> deleteKept(topic), kept.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void deleteKept(String topic) {
    try {
      topics.delete(topic);
      leaving.remove(topic);
      ours.remove(topic);
    } catch (PipelineException e) {
      LOG.warn("can't delete topic {}: {}", topic, e.getMessage());
    }
  }

  private void lookForOrphans() {
    try {
      Set<String> existing = topics.ofQueries();
      Set<String> known = new TreeSet<>(existing);
      known.addAll(topics.rights().topics());
      foreign.keySet().retainAll(known);
      for (String topic : known) {
        if (!ours.contains(topic)) {
          look(topic, existing.contains(topic) ? topics.written(topic) : GONE);
        }
      }
    } catch (PipelineException | RuntimeException e) {
      LOG.debug("can't check topics: {}", e.getMessage());
    }
  }

  /**
   * Deletes the topic if it is an orphan. ACLs without a topic are orphans, too: the topic of a new
   * query is created together with them.
   */
  private void look(String topic, long written) throws PipelineException {
    Rest knownRest = foreign.get(topic);
    long now = System.nanoTime();
    if (knownRest == null || knownRest.written() != written) {
      foreign.put(topic, new Rest(written, now));
    } else if (now - knownRest.sinceNs() >= policy.orphanAfter().toNanos()) {
      LOG.info("deleting orphaned topic {}: nothing is written to it", topic);
      topics.delete(topic);
      foreign.remove(topic);
    }
  }

  /** Deletes the topics of ended queries immediately, even within their retention time. */
  @Override
  public void close() {
    clock.shutdownNow();
    leaving.forEach(this::deleteKept);
  }
}
