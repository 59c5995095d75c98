package io.tapline.control.query.services;

import io.tapline.compiler.network.StreamPlanner;
import io.tapline.compiler.network.StreamPlanner.Broker;
import io.tapline.compiler.network.StreamPlanner.Cluster;
import io.tapline.control.PipelineException;
import io.tapline.network.Network;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Stream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.Node;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locates Kafka's brokers and Flink's task managers in the inventory's network, again for each
 * query. A broker is on the host named by its {@code broker.rack}, or else on the host with its
 * address; a task manager on the host named by its {@code taskmanager.resource-id}, or else on the
 * host with its address. Thread-safe.
 */
public final class StreamSites implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StreamSites.class);

  /** Timeout after which services are ignored, since a user is waiting for the query. */
  private static final long TIMEOUT_NS = 3_000_000_000L;

  private final Optional<Network> network;
  private final Topics topics;
  private final JobClusters clusters;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "stream-sites");
            thread.setDaemon(true);
            return thread;
          });

  public StreamSites(Optional<Network> network, Topics topics, JobClusters clusters) {
    this.network = network;
    this.topics = topics;
    this.clusters = clusters;
  }

  /**
   * Chooses the services for a plan's stream: those close to its monitors. Chooses none if there is
   * no network. Ignores services that don't answer; if the query needs them, it fails later.
   */
  public Stream choose(Plan plan) {
    if (network.isEmpty()) {
      return Stream.getDefaultInstance();
    }
    Future<List<Broker>> brokers = threads.submit(this::brokers);
    List<Future<Cluster>> pending =
        clusters.all().stream().map(cluster -> threads.submit(() -> cluster(cluster))).toList();
    long deadlineNs = System.nanoTime() + TIMEOUT_NS;
    List<Cluster> answering = new ArrayList<>();
    for (Future<Cluster> cluster : pending) {
      answer(cluster, "Flink", deadlineNs).ifPresent(answering::add);
    }
    List<String> monitors = plan.getMonitorsList().stream().map(Monitor::getHost).toList();
    return StreamPlanner.choose(
        network.get(),
        plan.getQuery(),
        monitors,
        answer(brokers, "Kafka", deadlineNs).orElseGet(List::of),
        answering);
  }

  private static <T> Optional<T> answer(Future<T> pending, String host, long deadlineNs) {
    try {
      long left = Math.max(0, deadlineNs - System.nanoTime());
      return Optional.of(pending.get(left, TimeUnit.NANOSECONDS));
    } catch (ExecutionException e) {
      LOG.warn("can't determine the location of {}: {}", host, e.getCause().toString());
    } catch (TimeoutException e) {
      LOG.warn("can't determine the location of {}: no answer", host);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return Optional.empty();
  }

  private List<Broker> brokers() throws PipelineException {
    return topics.brokers().stream().map(this::broker).toList();
  }

  private Broker broker(Node node) {
    return new Broker(node.id(), host(node.hasRack() ? node.rack() : "", node.host()));
  }

  private String host(String name, String address) {
    return network.get().hostOf(name).or(() -> network.get().hostOf(address)).orElse("");
  }

  private Cluster cluster(JobCluster cluster) throws IOException {
    TreeSet<String> hosts = new TreeSet<>();
    int freeSlots = 0;
    for (JobCluster.TaskManager taskManager : cluster.taskManagers()) {
      hosts.add(host(taskManager.id(), taskManager.host()));
      freeSlots += taskManager.freeSlots();
    }
    hosts.remove("");
    return new Cluster(cluster.address(), List.copyOf(hosts), freeSlots);
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
